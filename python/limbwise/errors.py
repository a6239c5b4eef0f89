"""Exceptions. Their texts are those of the Rust library: what, got, wanted, next step."""


class LimbwiseError(Exception):
    """Any error of this package."""


class ParamsError(LimbwiseError, ValueError):
    """A parameter set was refused: insecure, impossible or unknown."""


class KeyMissing(LimbwiseError):  # noqa: N818 - the name says what is wrong
    """An operation needs a key that this side does not have."""


class LevelError(LimbwiseError):
    """Not enough levels are left, or the parameters have too few."""


class ScaleError(LimbwiseError):
    """Scales of operands differ."""


class EncodeError(LimbwiseError, ValueError):
    """Values cannot be encoded: not finite, too many, or too large."""


class ShapeError(LimbwiseError, ValueError):
    """Shapes of arrays do not fit the operation."""


class DtypeError(LimbwiseError, TypeError):
    """Values of a dtype that cannot be encrypted, or complex values in a real context."""


class ContextError(LimbwiseError):
    """Ciphertexts belong to another context."""


class BootstrapError(LimbwiseError):
    """The ciphertext or the parameters cannot be bootstrapped."""


class DecryptError(LimbwiseError):
    """The decrypted values contradict the ciphertext's metadata; they are withheld."""


class UnverifiedError(LimbwiseError):
    """The metadata of an array read from bytes is not verified; decryption needs an expectation."""


class InsecureWarning(UserWarning):
    """Keys are generated for parameters below 128 bits of security."""


class WireError(LimbwiseError, ValueError):
    """Bytes are of another kind, or damaged."""


class PickleRefused(LimbwiseError, TypeError):  # noqa: N818 - the name says what is wrong
    """Unpickling runs arbitrary code, so it is refused; the text names the safe way."""


class DeviceFault(LimbwiseError):  # noqa: N818 - the name says what is wrong
    """The device failed, not the program."""


class MemoryBudgetError(LimbwiseError, MemoryError):
    """No configuration of the program fits the memory budget.

    Attributes:
        least_bytes: the smallest limit that would do, in bytes; None where it is not known.
    """

    def __init__(self, text: str, least_bytes: int | None = None) -> None:
        super().__init__(text)
        self.least_bytes = least_bytes


class MachineError(LimbwiseError, ValueError):
    """Unknown machine model, or unknown field of one."""


class TraceError(LimbwiseError):
    """The program uses an operation that a recording does not support, or returns no result."""


class ShadowError(LimbwiseError):
    """First operation after which a value exceeded the allowed error from its clear value."""


class MissingDependency(LimbwiseError, ImportError):  # noqa: N818 - the name says what is wrong
    """An optional package is not installed; the text has the command that installs it."""


def need(module: str, extra: str, what: str) -> MissingDependency:
    """Return the error for an optional package that is absent."""
    return MissingDependency(f'{what} needs {module}, which is not installed: run  pip install "limbwise[{extra}]"')
