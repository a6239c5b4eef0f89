"""Functions of NumPy's on encrypted arrays do what they do on clear ones."""

import limbwise as lw
import numpy as np
import pytest
from conftest import close

A = np.random.default_rng(11).uniform(-1, 1, (3, 4))
B = np.random.default_rng(12).uniform(-1, 1, (4, 3))
MASK = A > 0
# What only puts values elsewhere; levels that it costs.
MOVES = [
    (lambda x: np.swapaxes(x, 0, 1), 0),
    (lambda x: np.moveaxis(x, 0, 1), 0),
    (lambda x: np.expand_dims(x, 1), 0),
    (lambda x: np.squeeze(x[:, None]), 0),
    (lambda x: np.broadcast_to(x, (2, 3, 4)), 0),
    (np.copy, 0),
    (lambda x: x.swapaxes(0, 1).flatten(), 1),
    (lambda x: x[[0, 2]], 1),
    (lambda x: x[[2, 0], [1, -1]], 1),
    (lambda x: x[MASK], 1),
    (lambda x: x[:, MASK[0]], 1),
    (lambda x: np.take(x, [[0, 1], [2, 2]], 0), 1),
    (lambda x: x.take([5, -1]), 1),
    (lambda x: np.repeat(x, [1, 2, 0], 0), 1),
    (lambda x: x.repeat(2), 1),
    (lambda x: np.tile(x, (2, 3)), 1),
    (lambda x: np.flip(x, 1), 1),
    (np.rot90, 1),
    (lambda x: np.delete(x, 1, 0), 1),
    (lambda x: np.diagonal(x, 1), 1),
    (lambda x: np.split(x, 3)[1], 1),
    (lambda x: np.array_split(x, 2, 1)[1], 1),
    (lambda x: np.pad(x, 1), 1),
    (lambda x: np.pad(x, ((0, 1), (2, 0)), constant_values=0.5), 1),
    (lambda x: np.pad(x, 1, "reflect"), 1),
    (lambda x: np.concatenate([x, x]), 1),
    (lambda x: np.concatenate([x, A, x], 1), 1),
    (lambda x: np.concatenate([A, x], None), 2),
    (lambda x: np.stack([x, x], -1), 1),
    (lambda x: np.vstack([x, A[0]]), 1),
    (lambda x: np.hstack([x, x]), 1),
    (lambda x: np.dstack([x, A]), 1),
    (lambda x: np.column_stack([x, A[:, 0]]), 1),
]
SUMS = [
    (lambda x: np.where(MASK, x, 0.5), 1),
    (lambda x: np.where(MASK, A, x), 1),
    (lambda x: np.where(MASK[0], x, -x), 1),
    (lambda x: np.cumsum(x, 1), 1),
    (lambda x: x.cumsum(0), 1),
    (np.cumsum, 2),
    (np.diff, 1),
    (lambda x: np.diff(x, 2, 0), 1),
    (np.trace, 1),
    (lambda x: x.trace(1), 1),
    (lambda x: np.average(x, 0, [1, 2, 3.0]), 1),
    (lambda x: np.average(x, weights=np.abs(A), keepdims=True), 1),
    (lambda x: np.convolve(x[0], [1, 2, 3]), 2),
    (lambda x: np.convolve([1, -1.0], x[0], "same"), 2),
    (lambda x: np.convolve(x[0], [0.5, 0.5], "valid"), 2),
    (np.real, 0),
    (np.imag, 0),
]
PRODUCTS = [
    (lambda x: np.dot(x, B), 1),
    (lambda x: x.dot(B[:, 0]), 1),
    (lambda x: np.dot(2.0, x), 0),
    (lambda x: np.inner(x, A), 1),
    (lambda x: np.outer(x[0], B[0]), 2),
    (lambda x: np.tensordot(x, A), 1),
    (lambda x: np.tensordot(x, A, ([0], [0])), 1),
    (lambda x: np.einsum("ij,jk->ki", x, B), 1),
    (lambda x: np.einsum("ij,kj", x, x), 2),
    (lambda x: np.einsum("...i,ij->...j", x, B), 1),
    (lambda x: np.einsum("i...->...", x), 0),
    (lambda x: x @ np.stack([B, -B]), 1),
    (lambda x: np.stack([B, -B]) @ x, 1),
    (lambda x: x[None] @ B, 1),
    (lambda x: np.matmul(B, x[None]), 1),
    (lambda x: B[0] @ np.swapaxes(x[None], 1, 2)[:, :3], 2),
    (lambda x: np.add(A, x), 0),
    (lambda x: np.subtract(A, x), 0),
    (lambda x: np.multiply(A, x), 1),
    (lambda x: np.divide(x, 2), 1),
    (lambda x: np.float64(2) * x, 0),
    (np.negative, 0),
    (np.square, 1),
    (lambda x: np.power(x, 3), 2),
]


@pytest.mark.parametrize(("call", "levels"), MOVES + SUMS + PRODUCTS)
def test_functions_do_what_they_do_on_clear_arrays(ctx, call, levels):
    x = ctx.encrypt(A)
    got = call(x)
    assert x.level - got.settle().level == levels
    close(ctx.decrypt(got), call(A))


def test_arrays_of_several_ciphertexts_are_joined_and_taken_apart(ctx):
    large, small = (np.random.default_rng(n).uniform(-1, 1, (n, 1000)) for n in (5, 3))
    x, y = ctx.encrypt(large), ctx.encrypt(small)
    close(ctx.decrypt(np.concatenate([x, y, x])), np.concatenate([large, small, large]))
    close(ctx.decrypt(np.concatenate([y, y], 1)[1:]), np.concatenate([small, small], 1)[1:])
    # Messages that are taken as they are cost no level.
    full = np.random.default_rng(1).uniform(-1, 1, (3, ctx.slots))
    rows = ctx.encrypt(full)
    assert (rows[1].level, rows[::-1].level, np.stack([rows[2], rows[0]]).level) == (rows.level,) * 3
    close(ctx.decrypt(rows[::-1]), full[::-1])
    close(ctx.decrypt(np.stack([rows[2], rows[0]])), full[[2, 0]])
    close(ctx.decrypt(np.vstack([rows, rows[0] * 0.5])), np.vstack([full, full[0] * 0.5]))


def test_values_are_chosen_by_an_encrypted_condition(ctx):
    chosen = np.array([1.0, 0, 0, 1])
    condition, x = ctx.encrypt(chosen), ctx.encrypt(A)
    close(ctx.decrypt(np.where(condition, x, 0.25)), np.where(chosen > 0, A, 0.25))
    close(ctx.decrypt(np.where(condition, [1, 2, 3, 4], -1)), np.where(chosen > 0, [1, 2, 3, 4], -1))


def test_sums_of_repeated_values_do_not_count_their_padding(ctx):
    x = np.broadcast_to(ctx.encrypt(A[0, :3]), (5, 3))
    close(ctx.decrypt(x.sum()), 5 * A[0, :3].sum())
    close(ctx.decrypt((x * x).sum(0)), 5 * A[0, :3] ** 2)


def test_a_recording_has_them_too():
    def program(x):
        return np.concatenate([np.diff(x), np.where(np.arange(4) < 2, x[:4], 0)])

    plan = lw.plan(program, [lw.like(8)], preset="n13-l3-s40")
    assert plan.levels_left == 0


def test_bounds_and_extremes_have_the_names_of_numpy():
    ctx = lw.ckks(depth=24, slots=64, precision=20)
    x = ctx.encrypt(A)
    close(ctx.decrypt(np.clip(x, -0.5, 0.5)), np.clip(A, -0.5, 0.5), 0.02)
    close(ctx.decrypt(np.maximum(x, 0.25)), np.maximum(A, 0.25), 0.02)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: np.concatenate([x, A[0]]), "as many axes in each"),
        (lambda x: np.concatenate([x, B]), "all axes but axis 0 must be equal"),
        (lambda x: np.concatenate([x, x], 2), "axis 2"),
        (lambda x: np.stack([x, B]), "different shapes"),
        (lambda x: np.broadcast_to(x, (3, 3)), "do not go together"),
        (lambda x: np.broadcast_to(x, 4), "not into"),
        (lambda x: np.repeat(x, [1, 2]), "np.repeat of shape"),
        (lambda x: np.take(x, 9, 1), "np.take of shape"),
        (lambda x: np.pad(x, -1), "np.pad of shape"),
        (lambda x: np.pad(x, 1, "mean"), "choose constant"),
        (lambda x: np.diff(x, 4), "nothing is left"),
        (lambda x: np.diff(x, -1), "whole number from 0"),
        (lambda x: np.average(x, weights=[1, 2]), "weights of shape"),
        (lambda x: np.average(x, 0, [1, 0, -1]), "add up to zero"),
        (lambda x: np.convolve(x, [1, 2]), "two vectors"),
        (lambda x: np.convolve(x[0], [1, 2], "most"), "choose full"),
        (lambda x: np.tensordot(x, B, ([0], [0])), "lengths differ"),
        (lambda x: np.einsum("ii->i", x), "none twice in one array"),
        (lambda x: np.einsum("ij,jk", x, A), "a letter for each axis"),
        (np.where, "give both values"),
        (lambda x: x @ np.ones((2, 3, 3)), "stacks of matrices"),
    ],
)
def test_what_does_not_fit_is_told(ctx, call, words):
    with pytest.raises(lw.ShapeError, match=words):
        call(ctx.encrypt(A))


def test_arguments_without_a_meaning_are_refused(ctx):
    x = ctx.encrypt(A)
    for call in [
        lambda: np.concatenate([x, x], dtype=np.float32),
        lambda: np.cumsum(x, dtype=np.float32),
        lambda: np.trace(x, dtype=np.float32),
        lambda: np.diff(x, prepend=0),
        lambda: np.average(x, returned=True),
        lambda: np.convolve(x[0], x[0]),
        lambda: np.einsum("ij->i", x, out=np.zeros(3)),
        lambda: np.linalg.norm(x),
        lambda: np.power(x, np.nan),
        lambda: np.power(x, np.inf),
        lambda: np.power(x, "a"),
        lambda: np.mod(x, 2),
        lambda: np.take(A, x),
        lambda: np.take(x, [0], out=np.zeros(1)),
        lambda: np.take(x, [0], 0, np.zeros(1)),
    ]:
        with pytest.raises(lw.DtypeError):
            call()
