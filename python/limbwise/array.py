"""Encrypted arrays: NumPy's operators and reductions on values that nobody sees."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from limbwise import _files, _moves
from limbwise._protocols import NumpyProtocols
from limbwise.errors import ContextError, DtypeError, EncodeError, LevelError, ShapeError, TraceError
from limbwise.layout import Layout

if TYPE_CHECKING:
    from limbwise._limbwise import Ciphertext
    from limbwise.context import Context

Clear = npt.NDArray[Any]
Operand = Any


class EncryptedArray(NumpyProtocols):
    """An encrypted array of any shape; made by :meth:`limbwise.Context.encrypt`.

    ``+ - * @ **`` work with encrypted arrays, NumPy arrays and numbers, and broadcast as NumPy does. ``np.sort``, ``np.sum``
    and other functions of NumPy's reach ours. Levels, scales and bootstrapping are managed. Experts say :meth:`multiply`,
    :meth:`relinearize`, :meth:`rescale`, :meth:`drop_level`, :meth:`rotate_slots`, :meth:`conj` and :meth:`bootstrap`, and
    see :attr:`level`, :attr:`log_scale` and :attr:`parts`.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, context: Context, held: Ciphertext, layout: Layout, is_complex: bool) -> None:
        self._context = context
        self._held = held
        self._layout = layout
        self.is_complex = is_complex

    # What is known of it

    @property
    def context(self) -> Context:
        """Context of the array."""
        return self._context

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._layout.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return self._layout.size

    @property
    def nbytes(self) -> int:
        """Size of the ciphertexts in bytes."""
        return self._held.nbytes

    @property
    def ciphertexts(self) -> int:
        """Number of ciphertexts."""
        return self._held.batch

    @property
    def level(self) -> int:
        """Level: number of successive products left; bootstrapping restores levels at 0."""
        return self._held.level

    @property
    def log_scale(self) -> float:
        """log₂ of the scale; a product that is not rescaled has the sum of both."""
        return self._held.log_scale

    @property
    def parts(self) -> int:
        """Number of polynomials per ciphertext: 2, or 3 after a product that is not relinearized."""
        return self._held.parts

    @property
    def slots(self) -> int:
        """Number of slots of each ciphertext that hold values, which repeat in the others."""
        return self._held.slots

    @property
    def bound(self) -> float:
        """Upper bound of the absolute values."""
        return self._held.peak

    @property
    def expected_bits(self) -> float:
        """Expected mean precision: −log₂ of the mean absolute error that encryption and evaluation make.

        What a polynomial misses of its function (``error=`` of ``lw.sigmoid``, ``lw.exp`` and others) is not in it.
        """
        return self._held.precision_bits

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an encrypted number")
        return self.shape[0]

    def __repr__(self) -> str:
        kind = "complex" if self.is_complex else "real"
        return (
            f"<EncryptedArray {self.shape}, {kind}: level {self.level}, {self.ciphertexts} "
            f"ciphertext{'s' if self.ciphertexts > 1 else ''} of {self._held.slots} slots, "
            f"{self.expected_bits:.1f} bits expected>"
        )

    def __bool__(self) -> NoReturn:
        raise TraceError(
            "an encrypted array is neither true nor false: nobody here sees it; use lw.compare and arithmetic"
        )

    def __float__(self) -> NoReturn:
        raise TraceError("an encrypted array is no number here: decrypt it with the context's decrypt")

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    # Operators

    def __add__(self, other: Operand) -> EncryptedArray:
        return self._plus(other, 1)

    def __radd__(self, other: Operand) -> EncryptedArray:
        return self._plus(other, 1)

    def __sub__(self, other: Operand) -> EncryptedArray:
        return self._plus(other, -1)

    def __rsub__(self, other: Operand) -> EncryptedArray:
        return (-self)._plus(other, 1)

    def __mul__(self, other: Operand) -> EncryptedArray:
        return self._times(other)

    def __rmul__(self, other: Operand) -> EncryptedArray:
        return self._times(other)

    def __truediv__(self, other: Operand) -> EncryptedArray:
        if isinstance(other, EncryptedArray):
            return other.__rtruediv__(self)
        clear = self._clear(other)
        if np.any(clear == 0):
            raise EncodeError("division by zero")
        return self._times(1.0 / clear)

    def __rtruediv__(self, other: Operand) -> NoReturn:
        raise DtypeError(
            "division by an encrypted array is no polynomial: approximate the inverse on an interval, for example "
            "x * lw.reciprocal(y, interval=(0.5, 2))"
        )

    def __neg__(self) -> EncryptedArray:
        return self._like(self._native.negate(self._held), "negate")

    def __pos__(self) -> EncryptedArray:
        return self

    def __pow__(self, exponent: int) -> EncryptedArray:
        if isinstance(exponent, bool) or not isinstance(exponent, (int, np.integer)) or exponent < 1:
            raise DtypeError(
                f"an encrypted array to the power {exponent!r}: choose a whole number from 1, "
                "or approximate with lw.function(x, f, interval=…, degree=…)"
            )
        # From the left: squares, and the products that the binary digits ask for.
        result: EncryptedArray | None = None
        square, left = self, int(exponent)
        while True:
            if left & 1:
                result = square if result is None else result * square
            left >>= 1
            if not left:
                return cast(EncryptedArray, result)
            square = square * square

    def __matmul__(self, other: Operand) -> EncryptedArray:
        from limbwise import _products

        return _products.matmul(self, other if isinstance(other, EncryptedArray) else self._clear(other))

    def __rmatmul__(self, other: Operand) -> EncryptedArray:
        from limbwise import _products

        return _products.clear_matmul(self._clear(other), self)

    def _compare_refused(self, _: object) -> NoReturn:
        raise TraceError("encrypted arrays are compared by lw.compare(a, b), which gives 0, 1/2 or 1, encrypted")

    __lt__ = __le__ = __gt__ = __ge__ = _compare_refused

    def __eq__(self, other: object) -> NoReturn:
        self._equal_refused(other)

    def __ne__(self, other: object) -> NoReturn:
        self._equal_refused(other)

    def _equal_refused(self, _: object) -> NoReturn:
        raise TraceError(
            "whether encrypted values are equal is encrypted too: lw.equal(a, b) gives 1 or 0; of the same object ask with is"
        )

    # Reductions

    def sum(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> EncryptedArray:
        """Sum along axes, by rotations; costs a level only if padding must be masked.

        Args:
            axis: one axis or several, counted from the front or, if negative, from the back; all by default.
            keepdims: whether the axes stay, with length 1.

        Raises:
            ShapeError: no such axis, or one named twice.
        """
        axes = _moves.normal_axes(axis, self.ndim)
        result = self
        for number in sorted(axes, reverse=True):
            result = _moves.sum_axis(result, number)
        if keepdims:
            return result.reshape(tuple(1 if i in axes else n for i, n in enumerate(self.shape)))
        return result

    def mean(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> EncryptedArray:
        """Return the mean along axes: the :meth:`sum` times a number.

        Args:
            axis: one axis or several, counted from the front or, if negative, from the back; all by default.
            keepdims: whether the axes stay, with length 1.

        Raises:
            ShapeError: no such axis, or one named twice.
        """
        return self.sum(axis, keepdims) * (1.0 / self._count(axis))

    def var(self, axis: int | tuple[int, ...] | None = None, ddof: int = 0, keepdims: bool = False) -> EncryptedArray:
        """Return the variance along axes: the mean of squares minus the square of the mean.

        That of complex values has squares of absolute values, and is real. Values much larger than their deviation
        lose precision: subtract a rough mean first.

        Args:
            axis: one axis or several, counted from the front or, if negative, from the back; all by default.
            ddof: the squares are divided by the number of values minus this; from 0 to that number minus 1.
            keepdims: whether the axes stay, with length 1.

        Raises:
            ShapeError: no such axis, or ``ddof`` out of its range.
        """
        count = self._count(axis)
        if not 0 <= ddof < count:
            raise ShapeError(f"ddof = {ddof} with {count} values: choose 0 to {count - 1}")
        total = self.sum(axis, keepdims)
        squares = (self * self.conj()).sum(axis, keepdims)
        mean = total * (1.0 / count)
        variance = (squares * (1.0 / (count - ddof))) - mean * mean.conj() * (count / (count - ddof))
        variance.is_complex = False
        return variance

    def _count(self, axis: int | tuple[int, ...] | None) -> int:
        return int(np.prod([self.shape[i] for i in _moves.normal_axes(axis, self.ndim)], dtype=np.int64))

    # Shapes

    @property
    def T(self) -> EncryptedArray:  # noqa: N802 - NumPy's name
        """The array with reversed axes, without a rotation."""
        return self.transpose()

    def transpose(self, *axes: int | Sequence[int]) -> EncryptedArray:
        """Return the array with its axes in another order, without a rotation.

        Args:
            axes: every axis once, in the new order, as numbers or as one sequence; reversed by default.

        Raises:
            ShapeError: an axis is missing or named twice.
        """
        named = _moves.numbers(axes, "axes")
        known = range(-self.ndim, self.ndim)
        order = tuple(i % self.ndim if i in known else i for i in named) or tuple(reversed(range(self.ndim)))
        if sorted(order) != list(range(self.ndim)):
            raise ShapeError(f"axes {axes} of an array of {self.ndim}: name each once")
        return self._with(self._held, self._layout.permuted(order))

    def reshape(self, *shape: int | Sequence[int]) -> EncryptedArray:
        """Return the same values in row-major order under another shape; a change of layout costs a level.

        Args:
            shape: lengths of the axes, as numbers or as one sequence, with as many values as the array has.

        Raises:
            ShapeError: another number of values, or lengths that are no whole numbers.
        """
        return _moves.reshape(self, _moves.numbers(shape, "a shape"))

    def ravel(self) -> EncryptedArray:
        """Return all values as one axis."""
        return self.reshape((self.size,))

    def __getitem__(self, key: Any) -> EncryptedArray:
        """Return part of the array by public integers, slices, ellipses, lists of integers and booleans; costs a level."""
        return _moves.take(self, key)

    def roll(self, shift: int, axis: int = -1) -> EncryptedArray:
        """Return the array rolled along an axis, as ``numpy.roll``: values move to higher indices.

        Args:
            shift: positions, a whole number; negative ones move values to lower indices.
            axis: counted from the front or, if negative, from the back; the last by default.

        Raises:
            ShapeError: a shift that is no whole number, or no such axis.
        """
        return _moves.roll(self, shift, axis)

    def rotate(self, steps: int, axis: int = -1) -> EncryptedArray:
        """Return the array rotated to the left along an axis, to the right for negative steps: ``roll(-steps)``.

        One rotation of slots where the axis is a power of two and the topmost; else a map of two diagonals (a level).

        Args:
            steps: positions, a whole number.
            axis: counted from the front or, if negative, from the back; the last by default.

        Raises:
            ShapeError: steps that are no whole number, or no such axis.
        """
        return _moves.roll(self, -steps, axis)

    # Complex values

    def conj(self) -> EncryptedArray:
        """Return complex conjugates."""
        return self._like(self._native.conjugate(self._held), "conjugate") if self.is_complex else self

    @property
    def real(self) -> EncryptedArray:
        """The real parts."""
        if not self.is_complex:
            return self
        half = (self + self.conj()) * 0.5
        half.is_complex = False
        return half

    @property
    def imag(self) -> EncryptedArray:
        """The imaginary parts."""
        if not self.is_complex:
            return self * 0.0
        half = (self - self.conj()) * -0.5j
        half.is_complex = False
        return half

    # For experts

    def bounded_by(self, most: float) -> EncryptedArray:
        """State an upper bound of the absolute values, for bootstrapping and for intervals of functions.

        If the bound is wrong, results are wrong, and decryption may refuse them.

        Args:
            most: the bound, a positive number in the unit of the values.

        Raises:
            EncodeError: a bound that is not positive and finite.
        """
        if not (np.isfinite(most) and most > 0):
            raise EncodeError(f"a bound of {most}: give a positive number")
        quiet = _moves.quiet(self)
        return quiet._like(self._native.bounded_by(quiet._held, float(most)), "bounded_by")

    def multiply(self, other: EncryptedArray) -> EncryptedArray:
        """Multiply element-wise only: the result has three polynomials and the product of both scales.

        Both have one level and one layout; what the operators would do to bring them there is left to you, as are
        :meth:`relinearize` and :meth:`rescale`. Operators settle what is left open.

        Args:
            other: an encrypted array of the same shape, level and context.

        Raises:
            DtypeError: ``other`` is not encrypted.
            LevelError: of different levels.
            ShapeError: of different layouts, or a product that is not relinearized.
        """
        if not isinstance(other, EncryptedArray):
            raise DtypeError(f"multiply wants an encrypted array, got {type(other).__name__}: use * for clear values")
        self._same_context(other, "multiply")
        if other._layout != self._layout:
            raise ShapeError(
                f"multiply: arrays of shapes {self.shape} and {other.shape} that lie otherwise in their slots: "
                "the operator * moves them"
            )
        made = self._native.multiply(self._held, other._held)
        return self._context._checked(self._with(made, self._layout, self.is_complex or other.is_complex), "multiply")

    def relinearize(self) -> EncryptedArray:
        """Relinearize only: three polynomials become two."""
        return self._like(self._native.relinearize(self._held), "relinearize")

    def rescale(self) -> EncryptedArray:
        """Rescale only: divide by the primes of the level, which drops a level and about one scale."""
        return self._like(self._native.rescale(self._held), "rescale")

    def rotate_slots(self, steps: int) -> EncryptedArray:
        """Rotate all slots of each ciphertext to the left, padding included, with one key; see :meth:`rotate`.

        Args:
            steps: slots, a whole number; negative ones rotate to the right.

        Raises:
            ShapeError: steps that are no whole number.
            KeyMissing: a server without the key of this rotation.
        """
        if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)):
            raise ShapeError(f"a rotation by {steps!r}: give a whole number of slots")
        held = self._native.rotate(self._held, int(steps))
        return self._context._checked(self._with(held, replace(self._layout, clean=False)), "rotate_slots")

    def settle(self) -> EncryptedArray:
        """Relinearize and rescale now. By default products wait, so that a sum of products pays once."""
        return self._like(self._native.settle(self._held), "settle")

    def drop_level(self, level: int) -> EncryptedArray:
        """Return the array at a lower level and its scale, where operations are faster.

        Args:
            level: from 0 to the level that the array has.

        Raises:
            LevelError: a level above the array's, or no level.
        """
        if isinstance(level, bool) or not isinstance(level, (int, np.integer)) or level < 0:
            raise LevelError(f"drop_level: level {level!r}: levels count down to 0")
        return self._like(self._native.drop_level(self._held, int(level)), "drop_level")

    def bootstrap(self) -> EncryptedArray:
        """Bootstrap now. By default it happens when levels run out."""
        return self._like(self._native.bootstrap(self._held), "bootstrap")

    # Shadows

    @property
    def shadow(self) -> Clear | None:
        """Clear values of the same program in float64, in contexts with ``shadow``."""
        from limbwise.context import flat, steps_of

        out = np.empty(self.shape, dtype=np.complex128 if self.is_complex else np.float64)
        axes = self._layout.axes(steps_of(self.shape, self.shape))
        return out if self._native.shadow(self._held, flat(out), axes, self.is_complex) else None

    def measured_bits(self) -> tuple[float, float] | None:
        """Mean and minimum precision in bits against the clear values; needs the secret key."""
        return cast("tuple[float, float] | None", self._native.precision(self._held))

    # Bytes

    def to_bytes(self) -> bytes:
        """Serialize the array for :meth:`limbwise.Context.from_bytes` of either side.

        Raises:
            WireError: the bound was measured from the values and would leak information; encrypt with ``bound=``.
        """
        header = _files.header_of(self._layout, self.is_complex)
        return _files.frame("array", header, self._native.to_bytes(self._held))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`to_bytes` to a file.

        Args:
            path: the file; one that exists is replaced.

        Raises:
            WireError: as for :meth:`to_bytes`.
        """
        _files.save(Path(path), self.to_bytes())

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse pickling; the text names the safe way."""
        self._held.__reduce_ex__(2)
        raise DtypeError("ciphertexts are not pickled")

    # Inside

    @property
    def _native(self) -> Any:
        return self._context._session

    def _with(self, held: Ciphertext, layout: Layout, is_complex: bool | None = None) -> EncryptedArray:
        return EncryptedArray(self._context, held, layout, self.is_complex if is_complex is None else is_complex)

    def _like(self, held: Ciphertext, name: str) -> EncryptedArray:
        return self._context._checked(self._with(held, self._layout), name)

    def _clear(self, other: Operand) -> Clear:
        from limbwise._options import as_array

        clear = as_array(other)
        if clear.dtype.kind == "c" and not self._context.complex:
            raise DtypeError(
                "complex numbers in a context for real ones: make the context with complex=True, or use the real part"
            )
        if not np.all(np.isfinite(clear)):
            where = np.argwhere(~np.isfinite(np.atleast_1d(clear)))[0].tolist()
            raise EncodeError(
                f"value {where} is not finite: only finite numbers can be computed with; clean the data first"
            )
        return clear

    def _result_shape(self, other: tuple[int, ...]) -> tuple[int, ...]:
        try:
            return np.broadcast_shapes(self.shape, other)
        except ValueError:
            raise ShapeError(
                f"shapes {self.shape} and {other} do not go together: axes from the last on must be equal, or one of them 1"
            ) from None

    def _plus(self, other: Operand, sign: int) -> EncryptedArray:
        if isinstance(other, EncryptedArray):
            call = self._native.add if sign > 0 else self._native.sub
            return self._pair(other, call, "add", all)
        clear = self._clear(other)
        shape = self._result_shape(clear.shape)
        if (
            clear.ndim == 0
            and clear.dtype.kind == "f"
            and not (self._layout.padded and self._layout.clean and clear != 0)
        ):
            return self._like(self._native.add_scalar(self._held, sign * float(clear)), "add")
        layout = self._layout.broadcast(shape, self._context.slots)
        clean = _moves.zero_padding(self._layout, layout)
        add = partial(self._native.add_array, factor=float(sign))
        return self._clear_array(clear, replace(layout, clean=clean), add, "add")

    def _times(self, other: Operand) -> EncryptedArray:
        if isinstance(other, EncryptedArray):
            return self._pair(other, self._native.mul, "multiply", any)
        clear = self._clear(other)
        shape = self._result_shape(clear.shape)
        if clear.ndim == 0 and clear.dtype.kind == "f":
            return self._like(self._native.mul_scalar(self._held, float(clear)), "multiply")
        layout = replace(self._layout.broadcast(shape, self._context.slots), clean=True)
        return self._clear_array(clear, layout, self._native.mul_array, "multiply")

    def _clear_array(self, clear: Clear, layout: Layout, call: Callable[..., Ciphertext], name: str) -> EncryptedArray:
        from limbwise.context import flat, steps_of

        held = _moves.placed(self, layout)
        axes = layout.axes(steps_of(clear.shape, layout.shape))
        is_complex = clear.dtype.kind == "c"
        made = call(held, flat(clear), axes, batch=layout.batch, complex=is_complex)
        return self._context._checked(self._with(made, layout, self.is_complex or is_complex), name)

    def _same_context(self, other: EncryptedArray, name: str) -> None:
        if other._native.number != self._native.number:
            raise ContextError(
                f"{name}: these arrays belong to two contexts, whose keys are different ones: encrypt both with the same"
            )

    def _pair(
        self, other: EncryptedArray, call: Callable[..., Ciphertext], name: str, clean: Callable[[list[bool]], bool]
    ) -> EncryptedArray:
        self._same_context(other, name)
        a, b, layout = _moves.together(self, other, self._result_shape(other.shape))
        layout = replace(layout, clean=clean([_moves.zero_padding(x._layout, layout) for x in (a, b)]))
        left = _moves.placed(a, layout)
        right = left if other is self else _moves.placed(b, layout)
        made = self._with(call(left, right), layout, self.is_complex or other.is_complex)
        return self._context._checked(made, name)
