"""Explicit verbs: levels, scales and polynomials at every step; encryption at a level and under the public key."""

import limbwise as lw
import numpy as np
import pytest
from conftest import close


@pytest.fixture(scope="module")
def pair():
    ctx = lw.ckks(depth=3, slots=64, precision=24)
    a, b = np.linspace(-1, 1, 64), np.linspace(1, 0, 64)
    return ctx, a, b, ctx.encrypt(a), ctx.encrypt(b)


def test_each_verb_does_one_thing(pair):
    ctx, a, b, x, y = pair
    top, scale = x.level, x.log_scale
    assert (top, x.parts, x.slots) == (3, 2, 64)
    product = x.multiply(y)
    assert (product.level, product.parts) == (top, 3)
    assert product.log_scale == pytest.approx(2 * scale)
    linear = product.relinearize()
    assert (linear.level, linear.parts, linear.log_scale) == (top, 2, product.log_scale)
    assert (product.level, product.parts) == (top, 3), "operands stay as they are"
    rescaled = linear.rescale()
    assert (rescaled.level, rescaled.parts) == (top - 1, 2)
    assert abs(rescaled.log_scale - scale) < 0.1
    close(ctx.decrypt(rescaled), a * b)
    early = product.rescale().relinearize()
    close(ctx.decrypt(early), a * b)
    close(ctx.decrypt((x.multiply(y) + x.multiply(x)).relinearize().rescale()), a * b + a * a)
    # Operators take over wherever the verbs stop.
    close(ctx.decrypt(x.multiply(y) * y), a * b * b)
    lower = x.drop_level(1)
    assert lower.level == 1
    assert lower.nbytes < x.nbytes
    close(ctx.decrypt(lower * y), a * b)


def test_slots_rotate_padding_and_all(pair):
    ctx, a, _, x, _ = pair
    close(ctx.decrypt(x.rotate_slots(5)), np.roll(a, -5))
    close(ctx.decrypt(x.rotate_slots(-3)), np.roll(a, 3))
    short = ctx.encrypt([1.0, 2.0, 3.0])  # four slots
    turned = short.rotate_slots(1)
    close(ctx.decrypt(turned), np.array([2.0, 3.0, 0.0]))
    # What came from the padding is a value now, and what went there is left out of sums.
    close(ctx.decrypt(turned.sum()), np.array(5.0))


def test_what_does_not_go_together_is_refused(pair):
    ctx, _, _, x, y = pair
    for mistake, error, words in [
        (lambda: x.multiply(y.drop_level(1)), lw.LevelError, "multiply"),
        (lambda: x.multiply(y).multiply(x), lw.ShapeError, "relinearize"),
        (lambda: x.drop_level(0).rescale(), lw.LevelError, "level"),
        (lambda: x.drop_level(9), lw.LevelError, "level"),
        (lambda: x.drop_level(-1), lw.LevelError, "count down"),
        (lambda: x.drop_level("low"), lw.LevelError, "count down"),
        (lambda: x.multiply(2.0), lw.DtypeError, r"use \*"),
        (lambda: x.multiply(ctx.encrypt(np.ones((4, 4)))), lw.ShapeError, "moves them"),
        (lambda: x.rotate_slots(1.5), lw.ShapeError, "whole number"),
        (lambda: ctx.encrypt([1.0], level=4), lw.LevelError, "from 3 to 0"),
        (lambda: ctx.encrypt([1.0], key="private"), lw.DtypeError, "'secret' or 'public'"),
    ]:
        with pytest.raises(error, match=words):
            mistake()


def test_levels_and_keys_of_encryption(pair):
    ctx, a, b, x, _ = pair
    low = ctx.encrypt(a, level=1)
    assert low.level == 1
    assert low.nbytes == x.nbytes // 2
    public = ctx.encrypt(b, key="public")
    assert public.expected_bits < ctx.encrypt(b).expected_bits
    close(ctx.decrypt(low * public), a * b)


def test_who_has_the_public_key_encrypts_and_reads_nothing(tmp_path, pair):
    ctx, a, _, _, _ = pair
    ctx.save_public_key(tmp_path / "public")
    for source in (ctx.public_key_to_bytes(), tmp_path / "public"):
        other = lw.encryptor(source)
        assert not other.has_secret
        assert "encrypts only" in repr(other)
        sent = other.encrypt(a, bound=1.0)
        (as_it_is,) = lw.record(lambda x: x, lw.like(a.shape), context=ctx).expected(key="public")
        close(ctx.decrypt(ctx.from_bytes(sent.to_bytes(), expect=as_it_is)), a)
        with pytest.raises(lw.KeyMissing, match="secret key"):
            other.decrypt(sent)
        with pytest.raises(lw.KeyMissing, match="secret key"):
            other.encrypt(a, key="secret")
    with pytest.raises(lw.WireError, match="public_key_to_bytes"):
        lw.encryptor(ctx.keys_to_bytes())


def test_explicit_verbs_are_planned_and_timed():
    def program(x, y):
        return (x.multiply(y) + x.multiply(x)).relinearize().rescale().rotate_slots(2)

    plan = lw.plan(program, [lw.like(64), lw.like(64)], depth=2)
    assert plan.recording.operations == ["multiply", "multiply", "add", "relinearize", "rescale", "rotate"]
    assert {key["name"] for key in plan.to_records()} == {"the relinearization key", "Galois key 25 (rotation by 2)"}
    assert lw.time(plan, "ark").seconds > 0
    ctx = plan.context()
    a, b = np.linspace(-1, 1, 64), np.linspace(1, 0, 64)
    close(ctx.run(program, [a, b]), np.roll(a * b + a * a, -2))


def test_rings_of_other_degrees():
    with pytest.raises(lw.ParamsError, match="bits"):
        lw.Params.preset("n14-l7-s40").on_ring(12)
    small = lw.Params.preset("n14-l7-s40").on_ring(12, insecure="a test")
    assert (small.log_n, small.insecure_reason) == (12, "a test")
