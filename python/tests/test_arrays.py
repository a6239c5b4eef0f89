"""Operators, broadcasting, reductions and shapes against NumPy, on arrays of one and of several ciphertexts."""

import limbwise as lw
import numpy as np
import pytest
from conftest import close

SHAPES = [(), (1,), (7,), (64,), (5, 3), (2, 3, 5), (3000,), (70, 50), (4, 33, 40)]


@pytest.mark.parametrize("shape", SHAPES)
def test_round_trip_and_operators(ctx, rng, shape):
    a, b = rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape)
    x, y = ctx.encrypt(a), ctx.encrypt(b)
    assert x.shape == shape
    assert x.size == a.size
    close(ctx.decrypt(x), a)
    close(ctx.decrypt((x + y) * x - 2 * y + 0.5), (a + b) * a - 2 * b + 0.5)
    close(ctx.decrypt(-x + b - y * a), -a + b - b * a)
    close(ctx.decrypt(1 - x / 4), 1 - a / 4)
    close(ctx.decrypt(x**3), a**3)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((5, 3), (3,)),
        ((5, 3), (5, 1)),
        ((5, 1), (1, 3)),
        ((4,), (3, 1)),
        ((70, 50), (50,)),
        ((70, 50), (70, 1)),
        ((6, 1, 4), (5, 1)),
        ((8, 8), ()),
    ],
)
def test_broadcasting(ctx, rng, left, right):
    a, b = rng.uniform(-1, 1, left), rng.uniform(-1, 1, right)
    x, y = ctx.encrypt(a), ctx.encrypt(b)
    close(ctx.decrypt(x * y), a * b)
    close(ctx.decrypt(x + y), a + b)
    close(ctx.decrypt(x * b), a * b)
    close(ctx.decrypt(a - y), a - b)
    # Padding is left out of sums whatever was added to it.
    close(ctx.decrypt((x + y).sum()), np.sum(a + b), 1e-3)


@pytest.mark.parametrize("shape", [(7,), (5, 3), (8, 4), (2, 3, 5), (3000,), (70, 50), (3, 40, 33)])
def test_sums_along_axes(ctx, rng, shape):
    a = rng.uniform(-1, 1, shape)
    x = ctx.encrypt(a)
    for axis in [None, *range(len(shape)), -1]:
        close(ctx.decrypt(x.sum(axis)), a.sum(axis), 1e-3)
        close(ctx.decrypt(x.mean(axis, keepdims=True)), a.mean(axis, keepdims=True))
    close(ctx.decrypt(x.var()), a.var())
    close(ctx.decrypt((x + 1).sum(-1)), (a + 1).sum(-1), 1e-3)


def test_what_sums_leave_over_does_not_spread(ctx, rng):
    a = rng.uniform(-1, 1, (6, 5))
    x = ctx.encrypt(a)
    centered = x - x.mean(axis=1, keepdims=True)
    close(ctx.decrypt(centered), a - a.mean(axis=1, keepdims=True))
    close(ctx.decrypt(centered.sum(axis=0)), (a - a.mean(axis=1, keepdims=True)).sum(axis=0), 1e-3)
    close(
        ctx.decrypt(lw.poly(x.sum(axis=1) * 0.2, [0.5, 1, 0.25])),
        np.polynomial.polynomial.polyval(a.sum(1) * 0.2, [0.5, 1, 0.25]),
    )
    close(ctx.decrypt(x.sum(axis=1).bounded_by(5.0)), a.sum(axis=1))


def test_shapes_move(ctx, rng):
    a = rng.uniform(-1, 1, (6, 10))
    x = ctx.encrypt(a)
    close(ctx.decrypt(x.T), a.T)
    close(ctx.decrypt(x.T @ np.ones(6)), a.T @ np.ones(6))
    close(ctx.decrypt(x.reshape(4, 15)), a.reshape(4, 15))
    close(ctx.decrypt(x.reshape(-1)), a.reshape(-1))
    close(ctx.decrypt(x.reshape(6, 1, 10, 1) + 1), a.reshape(6, 1, 10, 1) + 1)
    for key in [2, (slice(1, 4), slice(None, None, 3)), (..., -1), (slice(None, None, -1), None, 4)]:
        close(ctx.decrypt(x[key]), a[key])
    for shift in (1, -3, 25):
        close(ctx.decrypt(x.roll(shift, 1)), np.roll(a, shift, 1))
    power = rng.uniform(-1, 1, 32)
    for steps in (1, -1, 5, -40):
        close(ctx.decrypt(ctx.encrypt(power).rotate(steps)), np.roll(power, -steps))
    large = rng.uniform(-1, 1, (3, 1500))
    close(ctx.decrypt(ctx.encrypt(large)[1, 10:20]), large[1, 10:20])


def test_moved_values_keep_their_bound(rng):
    ctx = lw.ckks(depth=7, slots=64, precision=24)
    a = rng.uniform(-1, 1, (40, 3))
    x = ctx.encrypt(a, bound=1)
    # Each step is a map by diagonals, between ciphertexts too.
    moved, wanted = x.ravel().roll(3).reshape(40, 3), np.roll(a, 3)
    assert moved.bound <= 1
    close(ctx.decrypt(lw.poly(moved, [1, -0.3, 0.5, 0.2, -0.7])), np.polyval([-0.7, 0.2, 0.5, -0.3, 1], wanted))
    weights = rng.uniform(-1, 1, (3, 2))
    assert (x @ weights).bound <= 4


def test_the_noise_of_few_values_is_that_of_the_many_they_meet(ctx, rng):
    many = rng.uniform(-1, 1, (128, 16))
    few = rng.uniform(-1, 1, 16)

    def expects(x, wanted):
        bits = -np.log2(np.mean(np.abs(ctx.decrypt(x) - wanted)))
        assert abs(bits - x.expected_bits) < 1.0, f"{bits:.2f}, expected {x.expected_bits:.2f}"

    x = ctx.encrypt(few)
    expects(x + many, few + many)
    expects(x * ctx.encrypt(many), few * many)
    centered = ctx.encrypt(many)
    expects(centered - centered.mean(), many - many.mean())


def test_axes_are_whole_numbers(ctx, rng):
    a = rng.uniform(-1, 1, (3, 4))
    x = ctx.encrypt(a)
    close(ctx.decrypt(x.sum(np.int64(1))), a.sum(1))
    close(ctx.decrypt(x.mean([np.int8(0), -1], keepdims=True)), a.mean((0, 1), keepdims=True))
    for axis in (1.0, "0", True, (0, 1.5)):
        with pytest.raises(lw.ShapeError, match="give whole numbers"):
            x.sum(axis)
    with pytest.raises(lw.ShapeError, match="which has no axes"):
        x.sum().sum(0)


def test_ciphertexts_of_padding_alone(rng):
    ctx = lw.ckks(depth=2, slots=64)
    a = rng.uniform(-1, 1, (16, 20))
    x = ctx.encrypt(a)
    # Rows of 160 lie in four ciphertexts each, of which the last holds none of them.
    close(ctx.decrypt(x.reshape(2, 160)), a.reshape(2, 160))
    close(ctx.decrypt(x.reshape(2, 160).sum()), a.sum(), 1e-3)
    b = rng.uniform(-1, 1, (6, 130))
    close(ctx.decrypt(ctx.encrypt(b)[::3]), b[::3])


def test_values_beyond_the_modulus_are_no_numbers():
    ctx = lw.ckks(depth=3, slots=64)
    a = np.array([0.5, 0.25, 1.0])
    x = ctx.encrypt(a)
    with pytest.raises(lw.EncodeError, match="overflows the modulus"):
        x * 1e200
    for large in (x * 1e30, (x * 1e10) ** 2):
        with pytest.raises(lw.DecryptError, match="no room"):
            ctx.decrypt(large)
    close(ctx.decrypt(x + 1e10), a + 1e10, 1e-3)


@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 5), (5, 4)), ((5,), (5, 4)), ((3, 5), (5,)), ((5,), (5,)), ((8, 8), (8, 8)), ((10, 20), (20, 6))],
)
def test_matrix_products(ctx, rng, left, right):
    a, b = rng.uniform(-1, 1, left), rng.uniform(-1, 1, right)
    x, y = ctx.encrypt(a), ctx.encrypt(b)
    close(ctx.decrypt(x @ b), a @ b, 1e-3)
    close(ctx.decrypt(a @ y), a @ b, 1e-3)
    close(ctx.decrypt(x @ y), a @ b, 1e-3)


def test_large_matrix_products_go_by_maps(rng):
    ctx = lw.ckks(depth=2, slots=256)
    matrix, v = rng.uniform(-1, 1, (20, 120)), rng.uniform(-1, 1, 120)
    x = ctx.encrypt(v)
    close(ctx.decrypt(matrix @ x), matrix @ v, 1e-3)
    hidden = rng.uniform(-0.1, 0.1, (120, 140))
    close(ctx.decrypt(x @ hidden), v @ hidden, 1e-3)
    two = rng.uniform(-1, 1, (120, 6))
    close(ctx.decrypt(matrix @ ctx.encrypt(two)), matrix @ two, 1e-3)


@pytest.mark.parametrize(
    ("shape", "filters", "stride", "padding"),
    [
        ((2, 8, 8), (3, 2, 3, 3), 1, "same"),
        ((2, 8, 8), (2, 2, 3, 3), 2, "same"),
        ((1, 7, 9), (2, 1, 2, 3), 1, "valid"),
        ((5, 24, 24), (4, 5, 3, 3), 2, "same"),
    ],
)
def test_convolutions(ctx, rng, shape, filters, stride, padding):
    image, weights, bias = rng.uniform(-1, 1, shape), rng.uniform(-1, 1, filters), rng.uniform(-1, 1, filters[0])
    got = ctx.decrypt(lw.conv2d(ctx.encrypt(image), weights, bias=bias, stride=stride, padding=padding))
    before = [(k - 1) // 2 for k in filters[2:]] if padding == "same" else [0, 0]
    after = [k - 1 - b for k, b in zip(filters[2:], before, strict=True)] if padding == "same" else [0, 0]
    padded = np.pad(image, ((0, 0), *zip(before, after, strict=True)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, filters[2:], axis=(1, 2))[:, ::stride, ::stride]
    close(got, np.einsum("cyxij,ocij->oyx", windows, weights) + bias[:, None, None], 1e-3)


def test_complex_values():
    ctx = lw.ckks(depth=3, slots=64, complex=True)
    z = np.exp(1j * np.linspace(0, 6, 20))
    x = ctx.encrypt(z)
    close(ctx.decrypt(x * x.conj()), (z * z.conj()))
    close(ctx.decrypt(x * 1j + z), z * 1j + z)
    close(ctx.decrypt(x.real), z.real)
    assert ctx.decrypt(x.real).dtype == np.float64


def test_functions_of_numpy_that_are_none_of_ours_are_refused_by_name(ctx):
    x = ctx.encrypt([0.5, 0.25])
    for call, error, words in [
        (lambda: np.prod(x), lw.DtypeError, r"np\.multiply\.reduce of an encrypted array: use the array's methods"),
        (lambda: np.sqrt(x), lw.DtypeError, r"use lw\.sqrt\(x, interval="),
        (lambda: np.cos(x), lw.DtypeError, r"use lw\.function\(x, np\.cos, interval="),
        (lambda: np.std(x), lw.DtypeError, r"lw\.sqrt\(x\.var\(axis\), interval="),
        (lambda: np.isnan(x), lw.TraceError, "nobody here sees its values"),
        (lambda: np.add(x, 1, out=np.ones(2)), lw.DtypeError, "takes no out"),
        (lambda: np.divide(1, x), lw.DtypeError, r"lw\.reciprocal"),
        (lambda: np.power(x, 0.5), lw.DtypeError, "whole number from 1"),
        (lambda: np.power(2, x), lw.DtypeError, "with an encrypted exponent"),
        (lambda: np.ones(2) < x, lw.TraceError, r"lw\.compare"),
        (lambda: np.ones(2) == x, lw.TraceError, r"lw\.equal"),
        (lambda: np.histogram(x), lw.DtypeError, "is no NumPy array"),
    ]:
        with pytest.raises(error, match=words):
            call()
