"""What NumPy asks of an array that is not its own, and methods that its arrays have and that are functions of it here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NoReturn, Self, cast

import numpy as np
import numpy.typing as npt

from limbwise.errors import DtypeError


class NumpyProtocols:
    """Base of encrypted arrays: NumPy's functions reach ours."""

    @staticmethod
    def _numpy() -> ModuleType:
        """Return the module with NumPy's functions of this kind of array: ``FUNCTIONS`` and ``elementwise``."""
        from limbwise import _numpy

        return _numpy

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise DtypeError(
            "an encrypted array is no NumPy array: decrypt it first, or use its own methods and lw's functions"
        )

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        """Carry out a function of NumPy's: by ours of that name, else by what NumPy makes of our methods."""
        ours = self._numpy().FUNCTIONS.get(function)
        if ours is not None:
            return ours(*args, **kwargs)
        try:
            return function._implementation(*args, **kwargs)  # type: ignore[attr-defined]
        except TypeError as e:
            if "ufunc" not in str(e):
                raise
            text = f"np.{function.__name__} of an encrypted array: wanted operators, its own methods or lw's functions"
            raise DtypeError(text) from None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Carry out an element-wise function of NumPy's, operators with its arrays on the left among them."""
        return self._numpy().elementwise(ufunc, method, *inputs, **kwargs)

    # Methods of NumPy's arrays

    def flatten(self) -> Self:
        """Return all values as one axis: as ``ravel``."""
        return cast("Self", np.ravel(cast(Any, self)))

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> Self:
        """Return the array without axes of length 1, all of them by default."""
        return cast("Self", np.squeeze(cast(Any, self), axis))

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        """Return the array with two axes exchanged, without a rotation."""
        return cast("Self", np.swapaxes(cast(Any, self), axis1, axis2))

    def repeat(self, repeats: int | Sequence[int], axis: int | None = None) -> Self:
        """Return the array with each value so many times, along an axis or all as one."""
        return cast("Self", np.repeat(cast(Any, self), cast(Any, repeats), axis))

    def take(self, indices: npt.ArrayLike, axis: int | None = None) -> Self:
        """Return the values at public indices along an axis, or of all as one."""
        return cast("Self", np.take(cast(Any, self), cast(Any, indices), axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """Return a diagonal of two axes."""
        return cast("Self", np.diagonal(cast(Any, self), offset, axis1, axis2))

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """Return the sum of a diagonal."""
        return cast("Self", np.trace(cast(Any, self), offset, axis1, axis2))

    def cumsum(self, axis: int | None = None) -> Self:
        """Return running sums along an axis, or of all values."""
        return cast("Self", np.cumsum(cast(Any, self), axis))

    def dot(self, other: Any) -> Self:
        """Return the product as :func:`numpy.dot`."""
        return cast("Self", np.dot(cast(Any, self), other))
