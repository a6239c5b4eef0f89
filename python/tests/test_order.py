"""Order along an axis: sorted values, the indices where they were, the first of them, medians."""

import limbwise as lw
import numpy as np
import pytest


@pytest.fixture(scope="module")
def deep():
    """32 levels on a small ring: two stages of sorters fit without bootstrapping."""
    with pytest.warns(UserWarning, match="a test"):
        return lw.ckks(lw.Params.preset("n16-l32-s40").on_ring(11, insecure="a test"))


def worst(got, wanted):
    return np.max(np.abs(got - wanted))


def rows(rng, shape, axis=-1):
    """Values in [0, 1], those of a row at least an eighth apart."""
    length = shape[axis]
    assert length <= 8
    others = [n for i, n in enumerate(shape) if i != axis % len(shape)]
    made = np.stack([rng.permutation(length) / 8 for _ in range(int(np.prod(others, dtype=int)))])
    return np.moveaxis(made.reshape(*others, length), -1, axis)


def test_rows_of_a_matrix_are_sorted_with_their_indices(deep, rng):
    a = rows(rng, (3, 5))
    x = deep.encrypt(a)
    y = lw.sort(x, interval=(0, 1), gap=1 / 10)
    assert y.shape == (3, 5)
    assert worst(deep.decrypt(y), np.sort(a)) < 0.02
    order = lw.argsort(x, interval=(0, 1), gap=1 / 10, descending=True)
    assert np.array_equal(np.round(deep.decrypt(order)), np.argsort(-a))
    # The first axis, whose rows lie between each other.
    b = rows(rng, (4, 6), axis=0)
    z = deep.encrypt(b)
    assert worst(deep.decrypt(lw.sort(z, axis=0, interval=(0, 1), gap=1 / 10)), np.sort(b, axis=0)) < 0.02


def test_the_first_values_and_the_middle_have_shapes_of_their_own(deep, rng):
    a = rows(rng, (2, 4, 3), axis=1)
    x = deep.encrypt(a)
    values, indices = lw.top_k(x, 2, axis=1, interval=(0, 1), gap=1 / 10)
    order = np.argsort(-a, axis=1)[:, :2]
    assert values.shape == indices.shape == (2, 2, 3)
    assert worst(deep.decrypt(values), np.take_along_axis(a, order, axis=1)) < 0.02
    assert np.array_equal(np.round(deep.decrypt(indices)), order)
    least, where = lw.top_k(x, 1, axis=1, largest=False, interval=(0, 1), gap=1 / 10)
    assert least.shape == (2, 1, 3)
    assert worst(deep.decrypt(least), a.min(axis=1, keepdims=True)) < 0.02
    assert worst(deep.decrypt(where), a.argmin(axis=1)[:, None]) < 0.3
    middle = lw.median(x, axis=1, interval=(0, 1), gap=1 / 10)
    assert worst(deep.decrypt(middle), np.median(a, axis=1)) < 0.02
    odd = lw.median(x, axis=-1, keepdims=True, interval=(0, 1), gap=1 / 10)
    assert odd.shape == (2, 4, 1)
    assert worst(deep.decrypt(odd), np.median(a, axis=-1, keepdims=True)) < 0.06
    # What is left computes on.
    assert (
        worst(deep.decrypt(values.sum(axis=1) + middle), np.sort(a, axis=1)[:, 2:].sum(axis=1) + np.median(a, axis=1))
        < 0.05
    )


def test_equal_values_stay_equal_and_their_indices_mix(deep):
    a = np.array([0.5, 0.25, 0.5, 1.0])
    x = deep.encrypt(a)
    assert worst(deep.decrypt(lw.sort(x, interval=(0, 1), gap=1 / 10)), np.sort(a)) < 0.02
    order = deep.decrypt(lw.argsort(x, interval=(0, 1), gap=1 / 10))
    assert abs(order[0] - 1) < 0.25
    assert abs(order[3] - 3) < 0.25
    assert abs(order[1] + order[2] - 2) < 0.5


def test_several_ciphertexts_are_sorted_each_by_itself(deep, rng):
    a = rows(rng, (600, 4))
    x = deep.encrypt(a)
    assert x.ciphertexts > 1
    values, indices = lw.top_k(x, 1, interval=(0, 1), gap=1 / 10)
    assert worst(deep.decrypt(values)[:, 0], a.max(axis=1)) < 0.02
    assert np.array_equal(np.round(deep.decrypt(indices)[:, 0]), a.argmax(axis=1))


def test_what_cannot_be_sorted_is_told_before_anything_is_computed(deep):
    x = deep.encrypt(np.linspace(0, 1, 8))
    with pytest.raises(lw.LevelError, match=r"sort needs level \d+; the ciphertext is at level 32"):
        lw.sort(x, interval=(0, 1))
    with pytest.raises(lw.EncodeError, match="the domain ends at 5"):
        lw.sort(deep.encrypt([0.0, 1.0]), interval=(-0.5, 0.5), gap=0.25)
    with pytest.raises(lw.EncodeError, match="between 0 and 1"):
        lw.argsort(x, gap=2)
    with pytest.raises(lw.EncodeError, match="tells apart what differs by"):
        lw.median(x, gap=1e-6)
    with pytest.raises(lw.EncodeError, match="the smaller first"):
        lw.sort(x, interval=(1, 0))
    with pytest.raises(lw.ShapeError, match="choose 1 to 8"):
        lw.top_k(x, 9)
    with pytest.raises(lw.ShapeError, match="several ciphertexts"):
        lw.sort(deep.encrypt(np.zeros(2048)))
    with pytest.raises(lw.DtypeError, match="wants an encrypted array"):
        lw.sort(np.zeros(3))
    with pytest.raises(lw.EncodeError, match="only finite numbers"):
        deep.encrypt([0.5, np.nan])
    assert np.allclose(deep.decrypt(lw.sort(deep.encrypt([[0.5]]))), 0.5)


def test_a_plan_bootstraps_where_levels_end():
    """No value and no key: the recorded program has its network and its bootstrappings."""

    def program(x):
        return lw.sort(x, interval=(0, 1), gap=1 / 64)

    recorded = lw.record(program, lw.like((4, 16), bound=1.0))
    assert recorded.operations == ["sort"]
    assert recorded.params.bootstraps
    # Every level between two bootstrappings is used again and again: a stage alone takes more than a third of them.
    assert len(recorded.facts["keys"]) > 20
    few = lw.record(lambda x: lw.sort(x, interval=(0, 1), gap=1 / 8), lw.like((4, 4), bound=1.0))
    assert not few.params.bootstraps


def test_the_first_values_take_fewer_stages_than_a_sort(deep, rng):
    """Without bootstrapping: the two greatest of sixteen are as deep as three sorters, all of them as deep as five."""
    a = rng.permutation(16) / 16
    x = deep.encrypt(a)
    with pytest.raises(lw.LevelError, match="sort needs level"):
        lw.sort(x, interval=(0, 1), gap=1 / 4)
    values, indices = lw.top_k(x, 1, interval=(0, 1), gap=1 / 18)
    assert worst(deep.decrypt(values), a.max()) < 0.02
    assert np.round(deep.decrypt(indices))[0] == a.argmax()


def test_functions_of_numpy_are_ours(deep, rng):
    a = rows(rng, (3, 4)) * 2 - 1
    x = deep.encrypt(a).bounded_by(1)
    assert worst(deep.decrypt(np.sort(x)), np.sort(a)) < 0.05
    assert worst(deep.decrypt(np.sort(x, axis=0)), np.sort(a, axis=0)) < 0.05
    assert np.array_equal(np.round(deep.decrypt(np.argsort(x, axis=1))), np.argsort(a, axis=1))
    parted = deep.decrypt(np.partition(x, 2, axis=1))
    assert worst(parted[:, 2], np.partition(a, 2, axis=1)[:, 2]) < 0.05
    assert np.all(parted[:, :2] <= parted[:, 2:3] + 0.05)
    assert worst(deep.decrypt(np.median(x, axis=1)), np.median(a, axis=1)) < 0.05
    assert worst(deep.decrypt(np.median(x, axis=1, keepdims=True)), np.median(a, axis=1, keepdims=True)) < 0.05
    assert worst(deep.decrypt(np.max(x, axis=0)), a.max(axis=0)) < 0.1
    assert worst(deep.decrypt(np.min(x, axis=0, keepdims=True)), a.min(axis=0, keepdims=True)) < 0.1
    # All values as one axis.
    few = deep.encrypt(a[:2, :2]).bounded_by(1)
    assert worst(deep.decrypt(np.sort(few, axis=None)), np.sort(a[:2, :2], axis=None)) < 0.1
    assert np.median(few, keepdims=True).shape == (1, 1)
    # Those that were methods only.
    assert worst(deep.decrypt(np.sum(x)), a.sum()) < 1e-4
    assert worst(deep.decrypt(np.mean(x, axis=0, keepdims=True)), a.mean(axis=0, keepdims=True)) < 1e-4
    assert worst(deep.decrypt(np.var(x, axis=1, ddof=1)), a.var(axis=1, ddof=1)) < 1e-4
    assert worst(deep.decrypt(np.transpose(x)), a.T) < 1e-6
    assert worst(deep.decrypt(np.reshape(x, (4, 3))), a.reshape(4, 3)) < 1e-5
    assert worst(deep.decrypt(np.roll(x, 1, axis=1)), np.roll(a, 1, axis=1)) < 1e-5
    assert np.shape(x) == (3, 4)


def test_what_numpy_takes_and_encrypted_arrays_do_not_is_told(deep):
    x = deep.encrypt(np.zeros((2, 3)))
    for kind in ("stable", "mergesort"):
        with pytest.raises(lw.DtypeError, match="is not stable"):
            np.sort(x, kind=kind)
    with pytest.raises(lw.DtypeError, match="takes no out"):
        np.median(x, out=np.zeros(3))
    with pytest.raises(lw.DtypeError, match="takes no dtype"):
        np.sum(x, dtype=np.float32)
    with pytest.raises(lw.ShapeError, match="of an array of 2 axes"):
        np.sort(x, axis=2)
    with pytest.raises(lw.ShapeError, match="give one number"):
        np.median(x, axis=(0, 1))
    with pytest.raises(lw.ShapeError, match="choose -3 to 2"):
        np.partition(x, 3)
    with pytest.raises(lw.ShapeError, match="give whole numbers"):
        np.partition(x, 1.5)
    # Whatever we have not is what it was: NumPy cannot read the values.
    with pytest.raises(lw.DtypeError, match="is no NumPy array"):
        np.unique(x)
    with pytest.raises(lw.DtypeError, match="takes no out"):
        np.sum(np.zeros(3), out=x)


def test_a_plan_tells_what_polynomials_miss(deep):
    def program(x):
        return lw.exp(lw.sort(x, interval=(0, 1), gap=1 / 10), interval=(-0.1, 1.1), error=2**-10)

    plan = lw.plan(program, [lw.like((3, 5))], context=deep)
    assert plan.approximations == [{"function": "sort", "error": 0.1}, {"function": "exp", "error": 2**-10}]
    assert "miss sort by up to 0.1, exp by up to 0.00098; not in the precision" in str(plan)
    exact = lw.plan(lambda x: x * x, [lw.like((3, 5))], context=deep)
    assert exact.approximations == []
    assert "polynomials" not in str(exact)
