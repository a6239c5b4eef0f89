"""Products of encrypted integers: of matrices, vectors and all pairs, as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from limbwise._exact_array import EncryptedIntegers, bits_of, clear, common, together, xp
from limbwise.errors import DtypeError, ShapeError

Array = EncryptedIntegers


def _no_out(name: str, out: Any) -> None:
    if out is not None:
        raise DtypeError(f"np.{name} of encrypted integers takes no out: leave it out")


def _products(a: Any, b: Any, dtype: np.dtype[Any]) -> EncryptedIntegers:
    """Return the sums over the first axis of products of two arrays of one shape, ``(length, values)``, or of one column."""
    length = a.shape[0]
    if isinstance(a, Array) and isinstance(b, Array):
        return _total(a * b, length, dtype)
    x, weights = (a, b) if isinstance(a, Array) else (b, a)
    weights = np.asarray(weights).astype(dtype)
    if weights.shape[1] == 1:
        x = x.astype(dtype) if x.dtype.kind == "b" else x
        made = x._session.sum(x._ciphertext, weights[:, 0].tolist(), bits_of(dtype), bits_of(dtype))
        return x._made(made, (x.shape[1],), dtype)
    return _total(x * weights, length, dtype)


def _total(x: EncryptedIntegers, length: int, dtype: np.dtype[Any]) -> EncryptedIntegers:
    if dtype.kind == "b":
        return x._made(x._session.reduce("any", x._ciphertext, length), x.shape[1:])
    return x._made(x._session.sum(x._ciphertext, [1] * length, bits_of(dtype), bits_of(dtype)), x.shape[1:])


def operand(x: Any, name: str) -> Any:
    return x if isinstance(x, Array) else clear(x, name)


def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """Return the matrix product. A clear matrix costs no products: its digits weigh those of the encrypted one."""
    _no_out("matmul", out)
    a, b = operand(a, "matmul"), operand(b, "matmul")
    if not a.ndim or not b.ndim:
        raise ShapeError("matmul of a number: use *")
    left = a.reshape(1, -1) if a.ndim == 1 else a
    right = b.reshape(-1, 1) if b.ndim == 1 else b
    (rows, inner), (other, columns) = left.shape[-2:], right.shape[-2:]
    if inner != other:
        raise ShapeError(f"matmul of shapes {a.shape} and {b.shape}: {inner} columns and {other} rows")
    batch = together(left.shape[:-2], right.shape[:-2])
    dtype = common(a.dtype, b.dtype)
    if dtype.kind == "b" and not (isinstance(a, Array) and isinstance(b, Array)):
        one = a if isinstance(a, Array) else b
        left, right = (side if isinstance(side, Array) else one._known(side, dtype) for side in (left, right))
    clear_columns = not isinstance(right, Array) and right.ndim == 2
    clear_rows = not isinstance(left, Array) and left.ndim == 2
    if clear_columns or clear_rows:
        # An encrypted matrix by each column of a clear one, or each row of a clear one by an encrypted matrix.
        x = left if clear_columns else xp.swapaxes(right, -1, -2)
        weights = right if clear_columns else left.T
        first = xp.moveaxis(x, -1, 0)
        flat = first.reshape(inner, -1)
        sums = [_products(flat, weights[:, j : j + 1], dtype).reshape(first.shape[1:]) for j in range(weights.shape[1])]
        result = xp.stack(sums, axis=-1 if clear_columns else -2)
    else:
        shape = (*batch, rows, columns, inner)
        spread = [xp.broadcast_to(left[..., :, None, :], shape), xp.broadcast_to(_columns(right), shape)]
        flat = [xp.moveaxis(side, -1, 0).reshape(inner, -1) for side in spread]
        result = _products(flat[0], flat[1], dtype).reshape(*shape[:-1])
    kept = (*batch, *((rows,) if a.ndim > 1 else ()), *((columns,) if b.ndim > 1 else ()))
    return result.reshape(kept)


def _columns(x: Any) -> Any:
    return xp.swapaxes(x, -1, -2)[..., None, :, :]


def dot(a: Any, b: Any, out: Any = None) -> Any:
    _no_out("dot", out)
    a, b = operand(a, "dot"), operand(b, "dot")
    if not a.ndim or not b.ndim:
        return a * b
    if b.ndim > 2:
        raise ShapeError(f"dot with an array of {b.ndim} axes: use np.matmul")
    return matmul(a, b)


def inner(a: Any, b: Any) -> Any:
    a, b = operand(a, "inner"), operand(b, "inner")
    return a * b if not a.ndim or not b.ndim else dot(a, xp.moveaxis(b, -1, 0) if b.ndim == 2 else b)


def vdot(a: Any, b: Any) -> Any:
    return dot(xp.ravel(operand(a, "vdot")), xp.ravel(operand(b, "vdot")))


def outer(a: Any, b: Any, out: Any = None) -> Any:
    _no_out("outer", out)
    return xp.ravel(operand(a, "outer"))[:, None] * xp.ravel(operand(b, "outer"))[None, :]
