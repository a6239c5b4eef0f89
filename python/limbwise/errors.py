"""What can go wrong. Texts are those of the Rust library: what, got, wanted, next step."""


class LimbwiseError(Exception):
    """Any error of this package."""


class ParamsError(LimbwiseError, ValueError):
    """A parameter set was refused: insecure, impossible or unknown."""


class KeyMissing(LimbwiseError):  # noqa: N818 - the name says what is wrong
    """An operation needs a key that this side does not have."""


class LevelError(LimbwiseError):
    """Not enough levels are left, or there are none to be had."""


class ScaleError(LimbwiseError):
    """Scales do not go together."""


class EncodeError(LimbwiseError, ValueError):
    """Values that cannot be encrypted: not finite, too many, too large."""


class ShapeError(LimbwiseError, ValueError):
    """Shapes of arrays that do not go together."""


class DtypeError(LimbwiseError, TypeError):
    """Values of a kind that cannot be encrypted, or complex ones where real ones are meant."""


class ContextError(LimbwiseError):
    """Ciphertexts of another context."""


class BootstrapError(LimbwiseError):
    """A ciphertext, or parameters, that cannot be bootstrapped."""


class DecryptError(LimbwiseError):
    """What was decrypted contradicts what the ciphertext promises: the numbers are withheld."""


class UnverifiedError(LimbwiseError):
    """An array that was read from bytes says itself how exact it is: nothing that is secret may go by that."""


class InsecureWarning(UserWarning):
    """Keys are made for parameters below 128 bits of security."""


class WireError(LimbwiseError, ValueError):
    """Bytes that are not what they should be."""


class PickleRefused(LimbwiseError, TypeError):  # noqa: N818 - the name says what is wrong
    """Pickles run code of whoever wrote them; the text names the safe way."""


class DeviceFault(LimbwiseError):  # noqa: N818 - the name says what is wrong
    """The machine failed, not the program."""


class MemoryBudgetError(LimbwiseError, MemoryError):
    """No way to run a program stays within the memory allowed."""


class MachineError(LimbwiseError, ValueError):
    """A machine model that does not exist, or a number that it does not have."""


class TraceError(LimbwiseError):
    """A program does what only a run can do, or returns nothing to plan."""


class ShadowError(LimbwiseError):
    """The first operation after which a value was further from its clear twin than allowed."""


class MissingDependency(LimbwiseError, ImportError):  # noqa: N818 - the name says what is wrong
    """An optional package is not installed; the text has the command that installs it."""


def need(module: str, extra: str, what: str) -> MissingDependency:
    """Return the error for an optional package that is absent."""
    return MissingDependency(f'{what} needs {module}, which is not installed: run  pip install "limbwise[{extra}]"')
