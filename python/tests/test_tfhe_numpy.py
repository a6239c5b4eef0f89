"""NumPy's functions of encrypted integers and booleans give what they give of clear ones, dtype and shape too."""

import operator

import limbwise as lw
import numpy as np
import pytest

UNSIGNED = np.array([[3, 200, 7], [7, 7, 0]], np.uint8)
SIGNED = np.array([[-3, -128, 7], [7, -7, 0]], np.int8)
BOOLEAN = np.array([[True, False, True], [False, False, True]])
COLUMN = np.array([[9], [255]], np.uint8)


@pytest.fixture(scope="module")
def keys(small_integers):
    return small_integers


def same(keys, got, wanted):
    """Decrypt, and compare values, dtype and shape; lists of arrays one by one."""
    if isinstance(wanted, (list, tuple)):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            same(keys, one, other)
        return
    found = keys.decrypt(got) if isinstance(got, lw.tfhe.EncryptedIntegers) else np.asarray(got)
    wanted = np.asarray(wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)


BINARY = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "divmod": divmod,
    "lt": operator.lt,
    "ge": operator.ge,
    "eq": operator.eq,
    "and": operator.and_,
    "xor": operator.xor,
    "minimum": np.minimum,
}
OF_BOOLEANS = ("add", "mul", "lt", "ge", "eq", "and", "xor", "minimum")


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:overflow")
@pytest.mark.parametrize("name", BINARY)
def test_binary_operations_with_encrypted_and_clear_operands(keys, name):
    f = BINARY[name]
    for a, b in [(UNSIGNED, COLUMN), (SIGNED, SIGNED[1]), (UNSIGNED, SIGNED)]:
        x, y, wanted = keys.encrypt(a), keys.encrypt(b), f(a, b)
        same(keys, f(x, y), wanted)
        same(keys, f(x, b), wanted)
        same(keys, f(a, y), wanted)
    x, y = keys.encrypt(UNSIGNED), keys.encrypt(SIGNED)
    same(keys, f(x, 7), f(UNSIGNED, 7))
    same(keys, f(7, y), f(7, SIGNED))
    same(keys, f(x, np.uint16(300)), f(UNSIGNED, np.uint16(300)))
    z = keys.encrypt(BOOLEAN)
    same(keys, f(z, x), f(BOOLEAN, UNSIGNED))
    if name in OF_BOOLEANS:
        same(keys, f(z, ~z[0]), f(BOOLEAN, ~BOOLEAN[0]))
        same(keys, f(BOOLEAN, z[:, :1]), f(BOOLEAN, BOOLEAN[:, :1]))
    else:
        with pytest.raises(lw.DtypeError, match="not for booleans"):
            f(z, z)


def test_shifts_by_encrypted_and_by_clear_arrays(keys):
    by = np.array([[0, 1, 9], [3, 7, 255]], np.uint8)
    x, y = keys.encrypt(UNSIGNED), keys.encrypt(by)
    same(keys, x << y, UNSIGNED << by)
    same(keys, UNSIGNED >> y, UNSIGNED >> by)
    same(keys, x << by % 8, UNSIGNED << by % 8)
    some = np.array([1, 0, 9], np.int8)
    same(keys, keys.encrypt(SIGNED) >> keys.encrypt(some), SIGNED >> some)
    same(keys, 5 << y, 5 << by)


def test_numbers_that_the_dtype_does_not_have(keys):
    """Compared with them, the answer is public; shifted by the bit width or more, nothing or the sign is left."""
    for a, numbers in ((UNSIGNED, (-1, 256, 2**70)), (SIGNED, (-129, 128))):
        x = keys.encrypt(a)
        for number in numbers:
            for f in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
                same(keys, f(x, number), f(a.astype(object), number).astype(bool))
                same(keys, f(number, x), f(number, a.astype(object)).astype(bool))
        for by in (7, 8, 100):
            same(keys, x << by, a << by)
            same(keys, x >> by, a >> by)


MOVES = {
    "T": lambda x: x.T,
    "row": lambda x: x[1],
    "backwards": lambda x: x[..., ::-1],
    "mask": lambda x: x[BOOLEAN],
    "pairs": lambda x: x[[1, 0], [2, 2]],
    "new axis": lambda x: x[:, None],
    "iteration": lambda x: [row[::2] for row in x],
    "concatenate": lambda x: np.concatenate([x, x], axis=1),
    "concatenate with clear": lambda x: np.concatenate([x, np.array([[1, 2, 3]], np.int16)]),
    "stack": lambda x: np.stack([x, x[::-1]], axis=-1),
    "vstack": lambda x: np.vstack([x[0], x]),
    "append": lambda x: np.append(x, np.uint8(3)),
    "block": lambda x: np.block([[x, x], [x, x]]),
    "split": lambda x: np.split(x, 3, axis=1),
    "tile": lambda x: np.tile(x, (2, 2)),
    "roll": lambda x: np.roll(x, 1, axis=1),
    "repeat": lambda x: np.repeat(x, 2, axis=0),
    "take": lambda x: np.take(x, [0, 2], axis=1),
    "squeeze": lambda x: np.squeeze(x[:1]),
    "methods": lambda x: [x.flatten(), x.swapaxes(0, 1), x.diagonal(), x.reshape(3, -1), x.ravel(), x.transpose(1, 0)],
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3)),
    "compress": lambda x: [np.compress([True, False, True], x, axis=1), np.extract(BOOLEAN, x)],
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[:1]),
    "where of public": lambda x: np.where(np.array([True, False, True]), x, x[::-1]),
}


@pytest.mark.parametrize("name", MOVES)
def test_values_are_moved(keys, name):
    for a in (UNSIGNED, BOOLEAN):
        same(keys, MOVES[name](keys.encrypt(a)), MOVES[name](a))


REDUCTIONS = {
    "sum": np.sum,
    "sum of columns": lambda x: np.sum(x, 0),
    "kept axis": lambda x: x.sum(axis=1, keepdims=True),
    "narrow sum": lambda x: np.sum(x, dtype=np.uint8),
    "add.reduce": np.add.reduce,
    "count": lambda x: np.count_nonzero(x, axis=0),
    "any": np.any,
    "all": lambda x: np.all(x, axis=1),
    "min": np.min,
    "max": lambda x: x.max(axis=0, keepdims=True),
    "argmax": np.argmax,
    "argmax of rows": lambda x: np.argmax(x, axis=1),
    "argmin": lambda x: x.argmin(0),
    "sort": np.sort,
    "sort of columns": lambda x: np.sort(x, axis=0),
    "sort of all": lambda x: np.sort(x, axis=None),
    "xor": lambda x: np.bitwise_xor.reduce(x, axis=1),
    "matrix": lambda x: x @ np.array([[1, 2], [3, 0], [5, 1]], np.int8),
    "vector": lambda x: x @ np.array([1, -2, 3], np.int8),
    "matrix on the left": lambda x: np.array([[1, 2]], np.int8) @ x,
    "batches": lambda x: x[None] @ np.ones((2, 3, 1), x.dtype),
    "both": lambda x: x @ x.T,
    "inner": lambda x: np.inner(x, x[0]),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(keys, name):
    for a in (UNSIGNED, SIGNED, BOOLEAN):
        same(keys, REDUCTIONS[name](keys.encrypt(a)), REDUCTIONS[name](a))


OTHERS = {
    "prod": lambda x: np.prod(x[:, :2], axis=0, dtype=np.int8),
    "cumsum": lambda x: np.cumsum(x, axis=1, dtype=np.int16),
    "diff": np.diff,
    "ptp": lambda x: np.ptp(x, axis=1),
    "trace": np.trace,
    "abs": np.abs,
    "sign": np.sign,
    "square": lambda x: [np.square(x), np.square(x > 3)],
    "power": lambda x: [x**3, x**0, x**1],
    "clip": lambda x: [np.clip(x, 2, 100), x.clip(5, None)],
    "where": lambda x: [np.where(x > 3, x, 0), np.where(x > 3, 1, 0), np.where(x > 3, x, x[:1])],
    "isin": lambda x: [np.isin(x, [3, 7]), np.isin([3, 4], x)],
    "array_equal": lambda x: [np.array_equal(x, x), np.array_equal(x, x[0])],
    "outer": lambda x: np.outer(x[0], [1, 2]),
    "vdot": lambda x: np.vdot(x, x),
    "astype": lambda x: [x.astype(t) for t in (np.int32, bool, np.int8)] + [x.astype(np.int16).astype(np.uint8)],
    "like": lambda x: [np.zeros_like(x), np.ones_like(x), np.array(np.shape(x)), np.size(x)],
    "logical": lambda x: [np.logical_and(x, x > 2), np.logical_not(x), np.logical_or(x, 0)],
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("name", OTHERS)
def test_other_functions(keys, name):
    for a in (UNSIGNED, SIGNED):
        same(keys, OTHERS[name](keys.encrypt(a)), OTHERS[name](a))


def test_tables(keys):
    index = np.array([[0, 15], [16, 255]], np.uint8)
    x = keys.encrypt(index)
    squares = np.arange(256) ** 2 % 251
    for table in (squares.astype(np.uint8), (squares - 125).astype(np.int16), squares > 100):
        same(keys, lw.tfhe.lookup(x, table), table[index])
        same(keys, lw.lookup(x, table), table[index])
    same(keys, lw.lookup(x, [7, 8, 9]), np.array([[7, 0], [0, 0]]))
    same(keys, lw.lookup(x > 15, np.array([5, 9], np.uint8)), np.array([[5, 5], [9, 9]], np.uint8))
    for table, error, words in [
        ([0.5], lw.DtypeError, "round first"),
        ([[1, 2]], lw.ShapeError, "a list of 1 to 1024"),
        (np.zeros(1025, int), lw.ShapeError, "1025 entries: give 1 to 1024"),
        ([], lw.DtypeError, "float64"),
    ]:
        with pytest.raises(error, match=words):
            lw.lookup(x, table)
    with pytest.raises(lw.DtypeError, match="indices are unsigned"):
        lw.lookup(keys.encrypt(SIGNED), [1, 2])


def test_both_sides(keys):
    """A program with clear arrays, moves, division and sums: what the server returns is what the client has recorded."""
    weights = np.array([2, 3, 5], np.uint8)

    def program(x):
        share = x * weights // 10
        return np.sort(share, axis=0).sum(axis=1), np.concatenate([x[:, 0], weights]) > 5

    client, server = keys.client(), keys.server()
    results = program(server.from_bytes(client.encrypt(UNSIGNED).to_bytes()))
    recording = lw.record(program, UNSIGNED, context=client)
    for got, wanted, expected in zip(results, program(UNSIGNED), recording.expected(), strict=True):
        same(client, client.from_bytes(got.to_bytes(), expect=expected), wanted)


def test_mistakes(keys, tmp_path):
    x = keys.encrypt(UNSIGNED)
    for call, error, words in [
        (lambda: x / 2, TypeError, "unsupported"),
        (lambda: np.divide(x, 2), lw.DtypeError, "use // and %"),
        (lambda: np.mean(x), lw.DtypeError, "is no integer"),
        (lambda: np.exp(x), lw.DtypeError, "not built"),
        (lambda: np.add(x, 1, out=UNSIGNED), lw.DtypeError, "takes no out"),
        (lambda: x[x > 3], lw.DtypeError, "an encrypted index"),
        (lambda: np.take(UNSIGNED, x), lw.DtypeError, "decrypt it first"),
        (lambda: np.take(x, x), lw.DtypeError, "are public"),
        (lambda: np.compress(x > 3, UNSIGNED), lw.DtypeError, "are public"),
        (lambda: np.roll(x, keys.encrypt(1, np.uint8)), lw.DtypeError, "are public"),
        (lambda: x[2], lw.ShapeError, "out of bounds"),
        (lambda: x[:0], lw.ShapeError, "has no values"),
        (lambda: operator.setitem(x, 0, 1), TypeError, "does not change"),
        (lambda: x.reshape(4), lw.ShapeError, "cannot reshape"),
        (lambda: x.sum(axis=2), lw.ShapeError, "axis 2"),
        (lambda: x.astype(np.float64), lw.DtypeError, "float64: encrypted integers are"),
        (lambda: x @ np.ones(2, np.uint8), lw.ShapeError, "3 columns and 2 rows"),
        (lambda: x**-1, lw.ShapeError, "no negative powers"),
        (lambda: x**x, lw.DtypeError, "one public exponent"),
        (lambda: x // 300, lw.EncodeError, "300 is outside uint8"),
        (lambda: x + 2**80, lw.LimbwiseError, ""),
        (lambda: x * 1.5, lw.DtypeError, "round first"),
        (lambda: np.concatenate([x, [[0.5, 1, 2]]]), lw.DtypeError, "round first"),
        (lambda: np.concatenate([x, x[0]]), lw.ShapeError, "concatenate"),
        (lambda: np.array(x), lw.DtypeError, "decrypt it first"),
        (lambda: np.sort(x, order="a"), lw.DtypeError, "takes no order"),
        (lambda: lw.tfhe.where(x, x, x), lw.DtypeError, "a condition of dtype uint8"),
        (lambda: range(x[0, 0]), lw.DtypeError, "no public number"),
    ]:
        with pytest.raises(error, match=words):
            call()
    (tmp_path / "other.toml").write_text(keys._session.to_toml())
    other = lw.tfhe.keys(tmp_path / "other.toml").encrypt(UNSIGNED)
    for call in (lambda: x + other, lambda: np.concatenate([x, other]), lambda: np.where(x > 1, x, other)):
        with pytest.raises(lw.ContextError, match="different keys"):
            call()
