"""Functions within the errors that they state."""

import limbwise as lw
import numpy as np
import pytest
from conftest import close


def test_polynomials_and_functions(ctx, rng):
    a = rng.uniform(-1, 1, (5, 7))
    x = ctx.encrypt(a)
    close(ctx.decrypt(lw.poly(x, [1, 0, -2, 0.5])), np.polynomial.polynomial.polyval(a, [1, 0, -2, 0.5]))
    close(ctx.decrypt(lw.poly(x, [0.25, 3])), 0.25 + 3 * a)
    close(ctx.decrypt(lw.poly(3 * x, [0, 1, 0, -0.1])), 3 * a - 2.7 * a**3, 1e-3)
    close(ctx.decrypt(lw.function(x, np.exp, interval=(-1, 1), degree=15)), np.exp(a))
    # Padding stays zero: sums after functions are right.
    close(ctx.decrypt(lw.function(x, np.cos, interval=1, degree=15).sum(axis=0)), np.cos(a).sum(axis=0), 1e-3)


def test_the_sigmoid_keeps_its_error(ctx):
    a = np.linspace(-8, 8, 300)
    got = ctx.decrypt(lw.sigmoid(ctx.encrypt(a)))
    worst = np.max(np.abs(got - 1 / (1 + np.exp(-a))))
    assert 1e-3 < worst < 1e-2, worst


def test_signs_comparisons_and_relu(caplog):
    ctx = lw.ckks(depth=10, slots=512, precision=22)
    a = np.concatenate([np.linspace(-4, -0.13, 100), [0.0], np.linspace(0.13, 4, 100)])
    x = ctx.encrypt(a)
    with caplog.at_level("INFO", logger="limbwise"):
        signs = ctx.decrypt(lw.sign(x, bound=4))
    assert "sign: degrees" in caplog.text
    far = np.abs(a) > 4 / 32
    assert np.max(np.abs(signs - np.sign(a))[far]) < 1 / 128 + 1e-3
    assert abs(signs[100]) < 1e-2
    assert np.max(np.abs(ctx.decrypt(lw.compare(x, 0.0, bound=4)) - (a > 0))[far]) < 1 / 128 + 1e-3
    assert np.max(np.abs(ctx.decrypt(lw.relu(x, bound=4)) - np.maximum(a, 0))) < 4 / 128 + 0.01
    assert np.max(np.abs(ctx.decrypt(lw.maximum(x, 1.0, bound=5)) - np.maximum(a, 1))) < 5 / 128 + 0.01


def test_what_is_no_polynomial_is_refused(ctx):
    x = ctx.encrypt([0.5, 0.25])
    with pytest.raises(lw.DtypeError, match=r"approximate the inverse.*lw\.reciprocal"):
        x / x
    with pytest.raises(lw.DtypeError, match=r"lw\.reciprocal"):
        2 / x
    for interval in ((1, 2, 3), "1", (0, None), np.ones(3)):
        with pytest.raises(lw.EncodeError, match="smaller first"):
            lw.sigmoid(x, interval=interval)
        with pytest.raises(lw.EncodeError, match="smaller first"):
            lw.sign(x, bound=interval)
    with pytest.raises(lw.DtypeError, match="whole number"):
        x**0.5
    with pytest.raises(lw.TraceError, match=r"lw\.compare"):
        x < 0
    with pytest.raises(lw.EncodeError, match="must be finite"):
        lw.function(x, lambda v: 1 / v if v > 0 else float("inf"), interval=1)
    with pytest.raises(ZeroDivisionError):
        lw.function(x, lambda v: 1 / 0, interval=1)
    with pytest.raises(lw.EncodeError, match="smaller first"):
        lw.function(x, np.exp, interval=(2, 1))
    with pytest.raises(lw.LevelError):
        lw.sign(x, gap=1e-9, error=1e-9)
    with pytest.raises(lw.LevelError, match=r"degree 255 on \[-300, 300\] has an error of 0.043, wanted 0.0001"):
        lw.sigmoid(x, interval=300, error=1e-4)
    with pytest.raises(lw.LevelError, match="sigmoid needs level 6; the ciphertext is at level 3"):
        lw.sigmoid(lw.ckks("n13-l3-s40").encrypt([0.5]), interval=8, error=1e-3)
