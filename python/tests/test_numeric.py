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


@pytest.mark.parametrize(
    ("shape", "axis"), [((3000,), 0), ((2, 1500), 1), ((5, 700), 0), ((2, 600, 2), 1), ((1, 2050), 1)]
)
def test_rows_in_several_ciphertexts_are_one_row(deep, rng, shape, axis):
    a = rng.uniform(-1, 1, shape)
    x = deep.encrypt(a)
    assert x.ciphertexts > 1
    powers = np.exp(a)
    shares = lw.softmax(x, axis=axis, bound=1, error=2**-24)
    assert worst(deep.decrypt(shares) * a.shape[axis], powers / powers.mean(axis=axis, keepdims=True)) < 2**-10
    variance = a.var(axis=axis, keepdims=True)
    normal = lw.layer_norm(x, axis=axis, variance=(0.9 * variance.min(), 1.1 * variance.max()))
    wanted = (a - a.mean(axis=axis, keepdims=True)) / np.sqrt(variance + 1e-5)
    assert worst(deep.decrypt(normal), wanted) < 2**-10
    # What is left computes on.
    assert worst(deep.decrypt(shares.sum(axis=axis)), 1) < 2**-9
    # Levels and error were known before there was a value.
    planned = lw.record(
        lambda x: lw.softmax(x, axis=axis, bound=1, error=2**-24), lw.like(shape, bound=1.0), context=deep
    )
    assert planned.facts["levels_left"] == shares.level
    measured = -np.log2(np.mean(np.abs(deep.decrypt(shares) - powers / powers.sum(axis=axis, keepdims=True))))
    assert shares.expected_bits - 1 < measured


def test_extremes_are_found_between_ciphertexts(deep, rng):
    # Rows of three values, which lie in three ciphertexts; then two rows of ciphertexts.
    for shape, axis in [((3, 1024), 0), ((2, 3, 600), 1)]:
        others = [n for i, n in enumerate(shape) if i != axis]
        a = np.stack([rng.permutation(3) / 3 - 0.5 for _ in range(int(np.prod(others)))])
        a = np.moveaxis(a.reshape(*others, 3), -1, axis)
        x = deep.encrypt(a)
        assert x.ciphertexts >= 3
        greatest = lw.amax(x, axis=axis, bound=1, gap=1 / 8)
        assert greatest.shape == tuple(others)
        assert worst(deep.decrypt(greatest), a.max(axis=axis)) < 0.02
        assert worst(deep.decrypt(greatest + 1.0), a.max(axis=axis) + 1.0) < 0.02
        least = lw.amin(x, axis=axis, bound=1, gap=1 / 8, keepdims=True)
        assert worst(deep.decrypt(least), a.min(axis=axis, keepdims=True)) < 0.02
        where = lw.argmax(x, axis=axis, bound=1, gap=1 / 4, error=1 / 32)
        assert worst(deep.decrypt(where), a.argmax(axis=axis)) < 0.3
        hot = lw.argmax(x, axis=axis, bound=1, gap=1 / 4, error=1 / 32, one_hot=True)
        assert worst(deep.decrypt(hot), a == a.max(axis=axis, keepdims=True)) < 1 / 16


def test_plans_count_rows_of_many_ciphertexts():
    """A hundred thousand values in four ciphertexts: no value and no key."""

    def of(function, **how):
        return lw.record(lambda x: function(x, **how), lw.like((100_000,), bound=1.0))

    short = lw.record(lambda x: lw.softmax(x, bound=1), lw.like((1000,), bound=1.0))
    long = of(lw.softmax, bound=1)
    assert long.operations == short.operations == ["bounded_by", "softmax"]
    assert long.facts["levels_left"] == short.facts["levels_left"]
    assert len(long.facts["keys"]) > len(short.facts["keys"])
    assert lw.plan(long).precision_bits["predicted"] > 20
    # Seven ciphertexts of 16,384: three rounds between them, fourteen inside of one, and their bootstrappings.
    greatest = [lw.record(lw.amax, lw.like((n,), bound=1.0), preset="boot-n15") for n in (16_384, 100_000)]
    nodes = [recorded.facts["nodes"] for recorded in greatest]
    assert greatest[1].params.bootstraps
    assert 1.1 * nodes[0] < nodes[1] < 2 * nodes[0]
    assert of(lw.layer_norm, variance=(0.2, 0.5)).operations[-1] == "layer_norm"
    with pytest.raises(lw.EncodeError, match="the index among 100000 values would be wrong"):
        of(lw.argmax)


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
    with pytest.raises(lw.EncodeError, match=r"sqrt: interval .* give two positive numbers"):
        lw.sqrt(x, interval=(0, 1))
    with pytest.raises(lw.EncodeError, match=r"log: interval .* give two positive numbers"):
        lw.log(x, interval=(-1, 1))
    with pytest.raises(lw.LevelError, match="narrower interval"):
        lw.log(x, interval=(1e-6, 1))
    with pytest.raises(lw.EncodeError, match="subtract a mean"):
        lw.softmax(x, bound=50_000)
    long = deep.encrypt(np.linspace(-1, 1, 3000))
    with pytest.raises(lw.ShapeError, match="axis 1 of an array of 1 axes"):
        lw.softmax(long, axis=1)
    with pytest.raises(lw.ShapeError, match="axis -2 of an array of 1 axes"):
        lw.amax(long, axis=-2)
    with pytest.raises(lw.EncodeError, match="only finite numbers"):
        lw.softmax(deep.encrypt([0.5, np.inf]), bound=1)
    with pytest.raises(lw.LevelError):
        lw.amax(long)
    # A value beyond the stated bound, in the last of three ciphertexts.
    beyond = np.zeros(3000)
    beyond[2500] = 6.0
    with pytest.raises(lw.DecryptError, match="inputs beyond a promised bound"):
        deep.decrypt(lw.softmax(deep.encrypt(beyond), bound=1))


@pytest.fixture(scope="module")
def boots():
    """The default bootstrapping on a small ring: on a secure one a lookup takes seconds."""
    with pytest.warns(UserWarning, match="a test"):
        return lw.ckks(lw.Params.preset("boot").on_ring(11, insecure="a test"))


def test_tables_give_their_entries_and_levels_again(boots, rng):
    a = rng.integers(0, 16, (20, 30))
    x = boots.encrypt(a)
    table = rng.integers(-50, 50, 16)
    looked = lw.lookup(x, table)
    assert worst(boots.decrypt(looked), table[a]) < 1e-3
    # Padding stays zero: a sum along an axis is one of entries.
    assert worst(boots.decrypt(looked.sum(axis=1)), table[a].sum(axis=1)) < 1e-2
    bits = rng.integers(0, 2, (2, 100))
    b, c = (boots.encrypt(row) for row in bits)
    for _ in range(2):
        b, c = lw.lookup(b + c, [0, 1, 0]), lw.lookup(b + c, [0, 0, 1])
        bits = np.array([bits[0] ^ bits[1], bits[0] & bits[1]])
    assert worst(boots.decrypt(b), bits[0]) < 1e-4
    assert worst(boots.decrypt(c), bits[1]) < 1e-4


def test_tables_that_do_not_fit_say_what_would(boots, deep):
    x = boots.encrypt(np.arange(8))
    with pytest.raises(lw.LimbwiseError, match="2 to 1024"):
        lw.lookup(x, np.arange(2000))
    with pytest.raises(lw.LimbwiseError, match="2 to 1024"):
        lw.lookup(x, [[1, 2], [3, 4]])
    with pytest.raises(lw.LimbwiseError, match="bootstrap"):
        lw.lookup(deep.encrypt(np.arange(4)), [0, 1, 1, 0])


def test_errors_axes_and_bounds_that_are_none_are_refused(deep):
    x = deep.encrypt(np.linspace(0.1, 0.9, 12).reshape(3, 4))
    for error in (float("nan"), 0, -1, float("inf")):
        for call in (
            lambda error=error: lw.exp(x, interval=(-1, 1), error=error),
            lambda error=error: lw.log(x, interval=(0.1, 1), error=error),
            lambda error=error: lw.softmax(x, bound=1, error=error),
            lambda error=error: lw.sigmoid(x, error=error),
        ):
            with pytest.raises(lw.EncodeError, match="one finite number above 0"):
                call()
    for axis in (None, (0, 1), 1.0):
        for function in (lw.sort, lw.median, lw.amax, lw.argmax, lw.softmax):
            with pytest.raises(lw.ShapeError, match="give one whole number"):
                function(x, axis)
    with pytest.raises(lw.EncodeError, match="bound 0: give one positive number"):
        lw.amax(x, bound=0)
    with pytest.raises(lw.EncodeError, match="give an eps of 0 or more"):
        lw.layer_norm(x, variance=(0.1, 1), eps=-1)
