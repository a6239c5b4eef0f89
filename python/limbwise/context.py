"""Contexts: parameters, keys and the two sides of an encrypted computation."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from limbwise import _files
from limbwise._limbwise import Params, Session, available_memory
from limbwise._options import as_array, choose, parse_size, warn_insecure, whole
from limbwise._reports import logger, size
from limbwise.array import EncryptedArray
from limbwise.errors import (
    ContextError,
    DtypeError,
    EncodeError,
    KeyMissing,
    LevelError,
    LimbwiseError,
    MemoryBudgetError,
    ParamsError,
    ShadowError,
    ShapeError,
)
from limbwise.layout import Layout, power_of_two

if TYPE_CHECKING:
    from limbwise.program import Expected, Recording


def ckks(  # noqa: D417 - the parameters of choose() are said there
    preset: str | Params | None = None,
    *,
    depth: int | None = None,
    slots: int | None = None,
    precision: int | None = None,
    bootstrap: bool | None = None,
    complex: bool = False,
    memory: str | int | None = None,
    keys: str | os.PathLike[str] | None = None,
    most_rotation_keys: int | None = None,
    device: str | None = None,
    threads: int | None = None,
    shadow: bool | float = False,
) -> Context:
    """Return a context that owns both sides: it encrypts, computes and decrypts.

    Evaluation keys are made when an operation first needs them, and the logger ``limbwise`` says which and how many
    bytes; a server that has no secret needs them beforehand (:meth:`Context.server`).

    Args:
        preset, depth, precision, bootstrap: parameters, see :func:`choose`.
        slots: values in one ciphertext, a power of two; larger arrays are split over several. All there are by default.
        complex: whether values may be complex. Real ones bootstrap in half the time.
        memory: what keys and maps of bootstrapping may take, and the ciphertexts of one call, such as ``"3GB"``; half of
            what is free by default.
        keys: ``"stored"``, or ``"seeded"`` for half the bytes at 1.4 times the time; as memory demands by default. A
            path, ``pathlib.Path("keys")``, is a directory for keys on disk: those used last stay in memory, within
            ``memory``, and the files are gone when the context is.
        most_rotation_keys: an operation that would make more keys of rotations is an error; as many as are needed by
            default.
        device: what computes: ``"cpu"`` by default; the others that ``limbwise list`` names give the same results.
        threads: threads of one operation; all by default.
        shadow: ``True`` lets clear values travel beside the encrypted ones (``x.shadow``, ``x.measured_bits()``); a
            number is the largest difference allowed after any operation, and the first that exceeds it is an error.

    Raises:
        ParamsError: no such preset, or no secure parameters.
    """
    params = choose(preset, depth=depth, slots=slots, precision=precision, bootstrap=bootstrap)
    count = params.max_slots if slots is None else slots
    if count < 1 or count != power_of_two(count) or count > params.max_slots:
        raise ParamsError(f"{count} slots: choose a power of two from 1 to {params.max_slots}")
    warn_insecure(params.insecure_reason)
    budget = None if memory is None else parse_size(memory)
    directory = Path(keys) if isinstance(keys, os.PathLike) else None
    whole("most_rotation_keys", most_rotation_keys, 0)
    whole("threads", threads, 1)
    session = Session.open(
        params,
        slots=count,
        complex=complex,
        device=device,
        threads=threads,
        memory=budget,
        keys=keys if isinstance(keys, str) else None,
        key_dir=directory,
        most_rotation_keys=most_rotation_keys,
    )
    return Context(session, params, count, complex, shadow, budget)


class Context:
    """One side of an encrypted computation, or both; made by :func:`ckks`, :meth:`server`, :meth:`client`, :func:`load`.

    Thread-safe.
    """

    def __init__(
        self,
        session: Session,
        params: Params,
        slots: int,
        complex: bool = False,
        shadow: bool | float = False,
        budget: int | None = None,
    ) -> None:
        self._session = session
        self.params = params
        self.slots = slots
        self.complex = complex
        self._shadow = shadow
        self._budget = budget
        self._least_level = params.levels
        self._approximations: dict[str, float] = {}
        self._side = "trace" if session.is_trace else "both sides" if session.has_secret else "server"

    # Encryption and decryption

    def encrypt(
        self,
        values: npt.ArrayLike,
        *,
        bound: float | None = None,
        level: int | None = None,
        key: Literal["secret", "public"] | None = None,
    ) -> EncryptedArray:
        """Encrypt an array of any shape; larger ones than the slots are split over several ciphertexts.

        Args:
            values: numbers, finite; complex ones only in a context for complex values.
            bound: promise that no value is larger. Without it bounds are measured from the values, which is as good but
                not for the eyes of a server: such a ciphertext cannot be sent (:meth:`EncryptedArray.to_bytes`).
            level: for fewer levels than programs have: smaller and faster.
            key: ``"secret"``, with less noise and half the bytes when sent, or ``"public"``, as those encrypt who have
                no other (:func:`limbwise.encryptor`); the secret one by default, where this side has it.

        Raises:
            EncodeError: NaN, infinity, or values beyond the promised bound.
            DtypeError: what is not a number, or complex where real is meant.
            LevelError: a level that programs do not have.
            MemoryBudgetError: more ciphertexts than memory, or the budget of the context, allows.
            KeyMissing: this side has no secret key, and no public one.
        """
        array = as_array(values)
        is_complex = array.dtype.kind == "c"
        if is_complex and not self.complex:
            raise DtypeError(
                "complex values in a context for real ones: encrypt x.real and x.imag apart, "
                "or make the context with complex=True"
            )
        if array.size == 0:
            raise DtypeError(f"an array of shape {array.shape} has no values to encrypt")
        if bound is not None and not (np.isfinite(bound) and bound > 0):
            raise EncodeError(f"a bound of {bound}: give a positive number")
        if level is not None and not 0 <= level <= self.levels:
            raise LevelError(f"encrypt: level {level}: levels count down from {self.levels} to 0")
        if key not in (None, "secret", "public"):
            raise DtypeError(f"key = {key!r}: choose 'secret' or 'public'")
        if key == "secret" and not self.has_secret:
            raise KeyMissing("encrypt needs the secret key, which only the client has: encrypt with key='public'")
        layout = Layout.of(array.shape, self.slots)
        self._fits(layout)
        held = self._session.encrypt(
            flat(array),
            layout.axes(steps_of(array.shape, array.shape)),
            slots=layout.slots,
            batch=layout.batch,
            complex=is_complex,
            bound=bound,
            level=level,
            public=key == "public",
            shadow=bool(self._shadow),
        )
        return EncryptedArray(self, held, layout, is_complex)

    def _fits(self, layout: Layout) -> None:
        """Raise if ciphertexts exceed the memory, before the system would kill the process."""
        if self._session.is_trace:
            return
        needed = self._session.ciphertext_bytes(layout.batch)
        most = self._budget if self._budget is not None else available_memory()
        if most is not None and needed > most:
            what = "the context's budget" if self._budget is not None else "free memory"
            raise MemoryBudgetError(
                f"an array of shape {layout.shape} takes {layout.batch} ciphertexts, {size(needed)}, where {what} is "
                f"{size(most)}: encrypt part of it, choose parameters with more slots or fewer levels, or allow more memory"
            )

    def decrypt(self, x: EncryptedArray) -> npt.NDArray[Any]:
        """Return the values of an encrypted array, in its shape, as float64 or complex128.

        Args:
            x: what :meth:`encrypt` returned, or computed from it.

        Raises:
            DtypeError: ``x`` is not encrypted.
            DecryptError: the decrypted values contradict the ciphertext's metadata.
            KeyMissing: this side has no secret key.
            ContextError: the array was encrypted by another context.
            UnverifiedError: the array was read from bytes without ``expect`` (:meth:`from_bytes`).
        """
        if not isinstance(x, EncryptedArray):
            raise DtypeError(
                f"decrypt wants an encrypted array, got {type(x).__name__}: what encrypt returned, or computed from it"
            )
        out = np.empty(x.shape, dtype=np.complex128 if x.is_complex else np.float64)
        steps = steps_of(x.shape, x.shape)
        self._session.decrypt(x._held, flat(out), x._layout.axes(steps), x.is_complex)
        return out

    def share(
        self, x: EncryptedArray, *, statistical_bits: int | None = None, shared_results: int | None = None
    ) -> npt.NDArray[Any]:
        """Decrypt for sharing: Gaussian noise hides the errors, which leak the secret key [LMSS22].

        All arrays that are shared under one key have noise for their whole number, which the first call says; further
        ones are refused. They are counted before a number is returned: in this object, and beside the secret key's file
        once there is one (:meth:`save_secret`, :func:`load`). The noise protects an honest evaluation that others see; it
        does not help against a server that makes results up (SECURITY.md).

        Args:
            x: the array.
            statistical_bits: what an attacker may gain is at most 2 to the minus this; each costs half a bit of precision.
                30 by default, or as the first time.
            shared_results: arrays that will be shared under this key in its life; four times as many cost a bit of
                precision. 16 by default, or as the first time.

        Raises:
            LimbwiseError: no bit of precision would be left; more than the noise was sized for.
            UnverifiedError, DecryptError, KeyMissing, ContextError: as for :meth:`decrypt`.
        """
        if not isinstance(x, EncryptedArray):
            raise DtypeError(f"share wants an encrypted array, got {type(x).__name__}")
        whole("statistical_bits", statistical_bits, 1)
        whole("shared_results", shared_results, 1)
        out = np.empty(x.shape, dtype=np.complex128 if x.is_complex else np.float64)
        axes = x._layout.axes(steps_of(x.shape, x.shape))
        report = json.loads(
            self._session.share(
                x._held, flat(out), axes, x.is_complex, statistical_bits=statistical_bits, results=shared_results
            )
        )
        flooded, shared = report["flooded"], report["shared"]
        logger.info(
            "shared %d of %d results, %.1f bits left of %.1f",
            shared["results"],
            shared["sharing"]["results"],
            flooded["precision_bits"],
            flooded["precision_bits_before"],
        )
        return out

    def run(self, program: Callable[..., Any], inputs: Any) -> Any:
        """Encrypt the inputs, run a program on them, and decrypt its results.

        Args:
            program: a function of as many encrypted arrays as there are inputs.
            inputs: an array, or a list of them.

        Returns:
            What the program returns, with decrypted arrays in the place of encrypted ones.

        Raises:
            KeyMissing: this side has no secret key.
        """
        from limbwise.program import as_inputs

        return _map(self.decrypt, program(*(self.encrypt(x, bound=b) for x, b in as_inputs(inputs))))

    # The two sides

    def client(self) -> Context:
        """Return the client's side: it encrypts and decrypts, and cannot evaluate."""
        made = Context(self._session.client(), self.params, self.slots, self.complex, self._shadow, self._budget)
        made._side = "client"
        return made

    def server(self, keys: bytes | str | os.PathLike[str] | None = None, *, memory: str | int | None = None) -> Context:
        """Return a server's side: it evaluates with these keys and cannot decrypt.

        Args:
            keys: what :meth:`keys_to_bytes` or :meth:`save_keys` gave; the keys made so far by default.
            memory: as for :func:`limbwise.server`.

        Raises:
            WireError, ContextError: the bytes hold no keys, are damaged, or are for other parameters.
        """
        if keys is None:
            return Context(self._session.without_secret(), self.params, self.slots, self.complex)
        made = server(keys, memory=memory)
        if made.params != self.params:
            raise ContextError("these keys are for other parameters than this context's: use those that it made")
        return made

    def prepare(self, program: Callable[..., Any], inputs: Any) -> None:
        """Generate all evaluation keys that a program on such inputs needs, to give them to a server.

        Args:
            program: a function of as many encrypted arrays as there are inputs.
            inputs: an array, or a list of them, or :func:`limbwise.like` where there is no data yet.
        """
        from limbwise.program import record

        self._session.make_keys(record(program, inputs, context=self)._native)

    def keys(self) -> list[dict[str, Any]]:
        """Return the evaluation keys made so far: name, level, bytes."""
        return [{"name": n, "level": level, "bytes": b} for n, level, b in self._session.keys()]  # noqa: SIM118 - no mapping

    def _keys_header(self) -> dict[str, Any]:
        boot = self._session.bootstrapping
        return {
            "params": self.params.to_toml(),
            "slots": self.slots,
            "complex": self.complex,
            "bootstrapping": None if boot is None else json.loads(boot),
            "seeded": self._session.key_form == "seeded",
        }

    def keys_to_bytes(self) -> bytes:
        """Return all evaluation keys made so far, for a server. They are public and cannot decrypt."""
        return _files.frame("keys", self._keys_header(), self._session.keys_to_bytes())

    def save_keys(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`keys_to_bytes` to a file key by key, without a second copy in memory.

        Args:
            path: the file; one that exists is replaced.
        """
        self._session.keys_to_file(Path(path), _files.frame("keys", self._keys_header(), b""))

    def public_key_to_bytes(self) -> bytes:
        """Return the public key for :func:`limbwise.encryptor`; its holder can encrypt for this context only."""
        header = {"params": self.params.to_toml(), "slots": self.slots, "complex": self.complex}
        return _files.frame("public", header, self._session.public_key_to_bytes())

    def save_public_key(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`public_key_to_bytes` to a file.

        Args:
            path: the file; one that exists is replaced.
        """
        _files.save(Path(path), self.public_key_to_bytes())

    def save_secret(
        self, path: str | os.PathLike[str], *, passphrase: str | None = None, replace: bool = False
    ) -> None:
        """Write the secret key with owner-only permissions; :func:`load` reads it.

        Args:
            path: the file.
            passphrase: encrypts the key; without one it lies in the clear.
            replace: replace a file that exists, which may have another key, when all of the new one is written.

        Raises:
            KeyMissing: this side has no secret key.
            FileExistsError: the file exists.
        """
        header = {"params": self.params.to_toml(), "slots": self.slots, "complex": self.complex}
        data = _files.frame("context", header, self._session.secret_to_bytes(_files.locking(passphrase)))
        _files.vacant(Path(path), replace=replace)
        # The ledger first: a key that is there without one could share more than its noise hides.
        self._session.keep_ledger(Path(path))
        _files.save_secret(Path(path), data, replace=replace)

    def from_bytes(
        self, data: bytes, *, expect: Recording | Expected | None = None, trusted: bool = False
    ) -> EncryptedArray:
        """Return an encrypted array from :meth:`EncryptedArray.to_bytes`.

        The file states how large values and errors are. A server that lies about them could learn the secret
        key from what is decrypted, so this side decrypts what it has read only with ``expect``: its own recording of the
        program, made for inputs of the same shapes and bounds.

        >>> recording = lw.record(program, [lw.like(50), lw.like(50)], context=client)
        >>> y = client.decrypt(client.from_bytes(data, expect=recording))

        Args:
            data: the bytes.
            expect: the recording of a program with one result, or one of :meth:`Recording.expected`.
            trusted: believe what the bytes say, because you wrote them yourself and nobody could change them.

        Raises:
            WireError: bytes that are no ciphertext, damaged, of other parameters, or of another key set.
            DecryptError: a result that is not what is expected.
        """
        from limbwise.program import Recording

        header, rest = _files.unframe(data, "array")
        layout, is_complex = _files.layout_of(header, self.slots)
        held = self._session.read_bytes(rest, trusted)
        if (held.slots, held.batch) != (layout.slots, layout.batch):
            raise _files.wrong("the shape does not go with the ciphertext", "the bytes of one array, whole")
        if isinstance(expect, Recording):
            every = expect.expected()
            if len(every) != 1:
                raise ShapeError(
                    f"a recording with {len(every)} results: give one of recording.expected() for each of them"
                )
            (expect,) = every
        if expect is not None:
            if (layout, is_complex) != (expect.layout, expect.is_complex):
                raise _files.wrong(
                    f"a result of shape {layout.shape}, or one that lies otherwise",
                    f"shape {expect.layout.shape} as recorded",
                )
            held = self._session.admit(held, expect.native)
        return EncryptedArray(self, held, layout, is_complex)

    def load(
        self, path: str | os.PathLike[str], *, expect: Recording | Expected | None = None, trusted: bool = False
    ) -> EncryptedArray:
        """Return an encrypted array from a file that :meth:`EncryptedArray.save` wrote.

        Args:
            path: the file.
            expect: as for :meth:`from_bytes`, and so are errors.
            trusted: as for :meth:`from_bytes`.
        """
        return self.from_bytes(Path(path).read_bytes(), expect=expect, trusted=trusted)

    # What this is

    @property
    def has_secret(self) -> bool:
        """Whether this side can decrypt."""
        return self._session.has_secret

    @property
    def levels(self) -> int:
        """Levels available to a program, or between two bootstrappings."""
        return self.params.levels

    @property
    def security_bits(self) -> int:
        """Security class of the parameters in bits."""
        return self.params.security_bits

    def _checked(self, x: EncryptedArray, name: str) -> EncryptedArray:
        """Compare with the clear values, if the context has ``shadow``; while recording, note the level that is reached."""
        if self._session.is_trace:
            self._least_level = min(self._least_level, x.level - (x.log_scale > 1.5 * self.params.log_scale))
        if isinstance(self._shadow, bool) or self._session.is_trace or not x._held.has_shadow or not self.has_secret:
            return x
        measured = self._session.precision_within(x._held)
        if measured is not None and 2.0 ** -measured[1] > self._shadow:
            raise ShadowError(
                f"{name} is the first operation whose result is {2.0 ** -measured[1]:.3g} from its clear twin, where "
                f"{self._shadow:.3g} is allowed: it has {measured[0]:.1f} bits mean at level {x.level}; "
                "use more precise parameters, or smaller values"
            )
        return x

    def __repr__(self) -> str:
        made = [] if self._session.is_trace else self._session.keys()
        keys = f"{len(made)} keys, {size(sum(k[2] for k in made))}"
        return (
            f"<limbwise.Context {self.params.name}: {self._side}, {self.slots} slots, {self.levels} levels"
            f"{' between bootstrappings' if self.params.bootstraps else ''}, {self.security_bits} bits of security, {keys}>"
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse pickling; the text names the safe way."""
        self._session.__reduce_ex__(2)
        raise LimbwiseError("contexts are not pickled")


def _map(function: Callable[[EncryptedArray], Any], value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _map(function, one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_map(function, one) for one in value)
    return function(value)


def server(
    keys: bytes | str | os.PathLike[str],
    *,
    memory: str | int | None = None,
    device: str | None = None,
    threads: int | None = None,
) -> Context:
    """Return a server from a client's keys: it evaluates and cannot decrypt.

    Args:
        keys: bytes of :meth:`Context.keys_to_bytes`, or a file of them.
        memory: bytes for keys, such as ``"500MB"``. Of a larger file those used last are kept within the budget, the others
            are read when an operation asks for them. All keys are in memory by default.
        device: what computes: ``"cpu"`` by default; the others that ``limbwise list`` names give the same results.
        threads: threads of one operation, from 1; all by default.

    Raises:
        WireError, ParamsError: a file without keys, or damaged; a size or a number of threads that means nothing.
    """
    path = None if isinstance(keys, (bytes, bytearray, memoryview)) else Path(keys)
    data = _files.head_of(path) if path else bytes(keys)  # type: ignore[arg-type]
    header, rest = _files.unframe(data, "keys", whole=path is None)
    whole("threads", threads, 1)
    params, slots, is_complex = _files.context_of(header)
    boot = header.get("bootstrapping")
    session = Session.server(
        params,
        None if path else rest,
        path=path,
        after=_files.length_of(header) if path else 0,
        memory=None if memory is None else parse_size(memory),
        device=device,
        threads=threads,
        bootstrapping=None if boot is None else json.dumps(boot),
        seeded=bool(header.get("seeded")),
    )
    warn_insecure(params.insecure_reason)
    return Context(session, params, slots, is_complex)


def encryptor(
    public_key: bytes | str | os.PathLike[str], *, device: str | None = None, threads: int | None = None
) -> Context:
    """Return a context that only encrypts, under a public key.

    Args:
        public_key: bytes of :meth:`Context.public_key_to_bytes`, or a file of them.
        device: what computes: ``"cpu"`` by default; the others that ``limbwise list`` names give the same results.
        threads: threads of one operation, from 1; all by default.

    Raises:
        WireError: the bytes hold no public key, or are damaged.
    """
    given = isinstance(public_key, (bytes, bytearray, memoryview))
    data = bytes(public_key) if given else Path(public_key).read_bytes()  # type: ignore[arg-type]
    header, rest = _files.unframe(data, "public")
    params, slots, is_complex = _files.context_of(header)
    made = Context(Session.encryptor(params, rest, device=device, threads=threads), params, slots, is_complex)
    warn_insecure(params.insecure_reason)
    made._side = "encrypts only"
    return made


def load(
    path: str | os.PathLike[str],
    *,
    passphrase: str | None = None,
    device: str | None = None,
    threads: int | None = None,
    memory: str | int | None = None,
) -> Context:
    """Load the context of :meth:`Context.save_secret`; its evaluation keys are generated again.

    Args:
        path: the file.
        passphrase: the one that the key was saved with, if any.
        device: what computes: ``"cpu"`` by default; the others that ``limbwise list`` names give the same results.
        threads: threads of one operation, from 1; all by default.
        memory: as for :func:`ckks`.

    Raises:
        WireError: no context's file, a damaged one, or another passphrase.
    """
    header, rest = _files.unframe(Path(path).read_bytes(), "context")
    params, slots, is_complex = _files.context_of(header)
    budget = None if memory is None else parse_size(memory)
    session = Session.open(
        params,
        slots=slots,
        complex=is_complex,
        device=device,
        threads=threads,
        memory=budget,
        secret=rest,
        passphrase=passphrase,
    )
    session.keep_ledger(Path(path))
    warn_insecure(params.insecure_reason)
    return Context(session, params, slots, is_complex, budget=budget)


def flat(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return a flat view of an array's numbers; complex ones as pairs."""
    return array.reshape(-1).view(np.float64)


def steps_of(shape: tuple[int, ...], whole: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of an array of ``shape`` along the axes of the array it broadcasts to."""
    steps, step = [0] * len(whole), 1
    for back, n in enumerate(reversed(shape)):
        axis = len(whole) - 1 - back
        steps[axis] = 0 if n == 1 and whole[axis] > 1 else step
        step *= n
    return tuple(steps)


__all__ = ["Context", "KeyMissing", "choose", "ckks", "encryptor", "load", "server"]
