"""Exact integers: operators, sums, rotations, maps, mistakes."""

import limbwise as lw
import numpy as np
import pytest


@pytest.fixture(scope="module")
def exact():
    return lw.bgv("bgv-n12")


def centred(values, t):
    values = np.asarray(values, dtype=object) % t
    return np.where(values > t // 2, values - t, values).astype(np.int64)


def test_arithmetic_is_exact(exact, rng):
    t = exact.modulus
    a, b = rng.integers(-(t // 2), t // 2 + 1, (2, 1000))
    x, y = exact.encrypt(a), exact.encrypt(b)
    same = lambda got, wanted: np.testing.assert_array_equal(exact.decrypt(got), centred(wanted, t))  # noqa: E731
    same(x, a)
    same(x + y, a + b)
    same(3 - x, 3 - a)
    same(x - b, a - b)
    same(x * y, a.astype(object) * b)
    same(x * -7, -7 * a)
    same(b * x, a.astype(object) * b)
    same(x * y + x - 5, a.astype(object) * b + a - 5)
    same((x * y).sum(), [(a.astype(object) * b).sum()][0])
    same((x + 1).sum() * 2 + 3, 2 * (a + 1).sum() + 3)


def test_batches_rotations_and_maps(exact, rng):
    t = exact.modulus
    rows = rng.integers(-50, 50, (3, 20))
    x = exact.encrypt(rows)
    np.testing.assert_array_equal(exact.decrypt(x.sum()), rows.sum(axis=1))
    np.testing.assert_array_equal(exact.decrypt(x * x), rows * rows)
    np.testing.assert_array_equal(exact.decrypt(x + np.arange(20)), rows + np.arange(20))
    full = rng.integers(-100, 100, exact.slots)
    half = exact.slots // 2
    y = exact.encrypt(full)
    turned = np.concatenate([np.roll(full[:half], -5), np.roll(full[half:], -5)])
    np.testing.assert_array_equal(exact.decrypt(y.rotate(5)), turned)
    np.testing.assert_array_equal(exact.decrypt(y.swap_rows()), np.roll(full, half))
    matrix = rng.integers(-9, 9, (4, 20))
    np.testing.assert_array_equal(exact.decrypt(matrix @ x), centred(rows @ matrix.T, t))
    assert any("rotation by 5" in name for name in exact.keys)
    measured, bound = exact.noise_budget(x)
    assert measured > bound > 0


def test_mistakes_are_told(exact):
    x = exact.encrypt([1, 2, 3])
    with pytest.raises(lw.EncodeError, match="slots hold -32768 to 32768 with t = 65537"):
        exact.encrypt([40000])
    with pytest.raises(lw.DtypeError, match="not integers"):
        exact.encrypt([0.5])
    with pytest.raises(lw.ShapeError, match="do not go together"):
        x + exact.encrypt([1, 2])
    with pytest.raises(lw.ShapeError, match="do not go together"):
        x + np.arange(4)
    with pytest.raises(lw.LevelError, match="choose parameters with more levels"):
        (x * x) * (x * x)
    with pytest.raises(lw.ParamsError, match='did you mean "bgv-n11"'):
        lw.bgv("bgv-n21")
    other = lw.bgv("bgv-n12")
    with pytest.raises(lw.ContextError, match="another context"):
        other.decrypt(x)
