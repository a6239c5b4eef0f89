"""Inverse, root, exponential, softmax and extremes along an axis, within the errors that they state."""

import limbwise as lw
import numpy as np
import pytest


@pytest.fixture(scope="module")
def deep():
    """32 levels on a small ring: on a secure one each of these functions takes seconds."""
    with pytest.warns(UserWarning, match="a test"):
        return lw.ckks(lw.Params.preset("n16-l32-s40").on_ring(11, insecure="a test"))


def worst(got, wanted):
    return np.max(np.abs(got - wanted))


def test_inverses_roots_and_exponentials_keep_their_errors(deep):
    a = np.linspace(0.02, 1, 300)
    x = deep.encrypt(a)
    assert worst(deep.decrypt(lw.reciprocal(x, interval=(0.02, 1))) * a, 1) < 2**-12 + 1e-5
    assert worst(deep.decrypt(lw.rsqrt(x, interval=(0.02, 1))) * np.sqrt(a), 1) < 2**-12 + 1e-5
    assert worst(deep.decrypt(lw.sqrt(x, interval=(0.02, 1))) / np.sqrt(a), 1) < 2**-12 + 1e-4
    assert worst(deep.decrypt(lw.exp(x, interval=(-1, 1))), np.exp(a)) < 2**-12
    assert worst(deep.decrypt(lw.log(x, interval=(0.02, 1))), np.log(a)) < 2**-12 + 1e-5


def test_softmax_and_layer_norm_work_along_axes(deep, rng):
    a = rng.uniform(-2, 2, (8, 16))
    x = deep.encrypt(a)
    powers = np.exp(a)
    assert worst(deep.decrypt(lw.softmax(x, axis=1, bound=2)), powers / powers.sum(axis=1, keepdims=True)) < 2**-12
    assert worst(deep.decrypt(lw.softmax(x, axis=0, bound=2)), powers / powers.sum(axis=0)) < 2**-12
    centered = a - a.mean(axis=1, keepdims=True)
    wanted = centered / np.sqrt(a.var(axis=1, keepdims=True) + 1e-5)
    assert worst(deep.decrypt(lw.layer_norm(x, variance=(0.3, 4))), wanted) < 2**-10


def test_extremes_are_found_along_an_axis(deep, rng):
    ctx = deep
    # No two values of a row are nearer than a sixteenth.
    a = np.stack([rng.permutation(8) / 8 - 0.5 for _ in range(3)])
    x = ctx.encrypt(a)
    assert worst(ctx.decrypt(lw.absolute(x, bound=0.5, gap=1 / 16)), np.abs(a)) < 0.01
    assert worst(ctx.decrypt(lw.amax(x, bound=1, gap=1 / 16)), a.max(axis=1)) < 0.05
    assert worst(ctx.decrypt(lw.amin(x, bound=1, gap=1 / 16)), a.min(axis=1)) < 0.05
    # Rounds of the maximum and a comparison: four values are what 32 levels reach without bootstrapping.
    few = np.stack([rng.permutation(4) / 4 - 0.5 for _ in range(3)])
    y = ctx.encrypt(few)
    assert worst(ctx.decrypt(lw.argmax(y, bound=1, gap=1 / 4, error=1 / 32)), few.argmax(axis=1)) < 0.3
    hot = ctx.decrypt(lw.argmax(y, bound=1, gap=1 / 4, error=1 / 32, one_hot=True))
    assert worst(hot, few == few.max(axis=1, keepdims=True)) < 1 / 16
    same = ctx.decrypt(lw.equal(x, a.T[0][:, None] * np.ones((3, 8)), bound=1, gap=1 / 16))
    assert worst(same, a == a[:, :1]) < 0.02


def test_mistakes_in_intervals_are_told(deep):
    x = deep.encrypt([0.5, 0.25])
    with pytest.raises(lw.EncodeError, match="positive numbers"):
        lw.reciprocal(x, interval=(0, 1))
    with pytest.raises(lw.EncodeError, match="smaller first"):
        lw.sqrt(x, interval=(2, 1))
    with pytest.raises(lw.EncodeError, match="give two numbers"):
        lw.rsqrt(x, interval=3)
    with pytest.raises(lw.EncodeError, match="logarithms are of positive"):
        lw.log(x, interval=(-1, 1))
    with pytest.raises(lw.LevelError, match="narrower interval"):
        lw.log(x, interval=(1e-6, 1))
    with pytest.raises(lw.EncodeError, match="subtract a mean"):
        lw.softmax(x, bound=50)
