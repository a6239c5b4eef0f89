"""Exact integers: operators, sums, rotations, maps, mistakes."""

import limbwise as lw
import numpy as np
import pytest


@pytest.fixture(scope="module")
def exact():
    return lw.bgv("bgv-n12")


def centered(values, t):
    values = np.asarray(values, dtype=object) % t
    return np.where(values > t // 2, values - t, values).astype(np.int64)


def test_arithmetic_is_exact(exact, rng):
    t = exact.modulus
    a, b = rng.integers(-(t // 2), t // 2 + 1, (2, 1000))
    x, y = exact.encrypt(a), exact.encrypt(b)
    same = lambda got, wanted: np.testing.assert_array_equal(exact.decrypt(got), centered(wanted, t))  # noqa: E731
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
    np.testing.assert_array_equal(exact.decrypt(matrix @ x), centered(rows @ matrix.T, t))
    assert any("rotation by 5" in name for name in exact.keys)
    measured, bound = exact.noise_budget(x)
    assert measured > bound > 0


def test_a_sum_is_of_the_message(exact):
    a = np.arange(1, 7)
    x = exact.encrypt(a)
    assert exact.decrypt(x.rotate(2).sum()) == a[2:].sum()
    assert exact.decrypt(x.swap_rows().sum()) == 0
    assert exact.decrypt((x.rotate(2) + x).sum()) == a[2:].sum() + a.sum()
    assert exact.decrypt((x.rotate(1) * [1, 1, 1, 0, 0, 0]).sum()) == a[1:4].sum()
    rows = exact.encrypt(np.array([a, 2 * a]))
    np.testing.assert_array_equal(exact.decrypt((-rows.rotate(4)).sum()), [-11, -22])
    full = np.arange(exact.slots) % 5
    assert exact.decrypt(exact.encrypt(full).rotate(3).sum()) == full.sum()
    sent = exact.from_bytes(x.rotate(2).to_bytes(), trusted=True)
    assert exact.decrypt(sent.sum()) == a[2:].sum()


def test_integers_are_not_compared(exact):
    x = exact.encrypt([1, 2, 3])
    y = exact.encrypt([1, 2, 3])
    for call in (lambda: x == y, lambda: x != 1, lambda: x < y, lambda: x <= 1, lambda: x == None):  # noqa: E711
        with pytest.raises(lw.DtypeError, match="BGV does not compare"):
            call()
    with pytest.raises(lw.DtypeError, match="not true or false"):
        bool(x)


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


def program(x, y):
    return (x * y + x - 5).sum()


@pytest.fixture(scope="module")
def sides(exact, tmp_path_factory):
    exact.prepare(program, [np.zeros(20, int), np.zeros(20, int)])
    path = tmp_path_factory.mktemp("bgv") / "keys"
    exact.save_keys(path)
    return exact.client(), lw.integers.server(path)


def test_a_server_computes_and_cannot_decrypt(sides, rng):
    client, server = sides
    a, b = rng.integers(-50, 50, (2, 20))
    x, y = (server.from_bytes(client.encrypt(v).to_bytes()) for v in (a, b))
    result = program(x, y)
    for attempt in (lambda: server.decrypt(result), lambda: server.encrypt(a)):
        with pytest.raises(lw.KeyMissing, match="secret key"):
            attempt()
    with pytest.raises(lw.KeyMissing):
        x.rotate(7)
    recording = lw.record(program, [a, b], context=client)
    got = client.decrypt(client.from_bytes(result.to_bytes(), expect=recording))
    assert got == centered((a * b + a - 5).sum(), client.modulus)


def test_nothing_read_from_bytes_is_decrypted_unless_it_is_expected(sides, exact):
    client, server = sides
    a = np.arange(20)
    data = client.encrypt(a).to_bytes()
    result = program(*(server.from_bytes(data) for _ in range(2))).to_bytes()
    for read in (client.from_bytes(result), exact.from_bytes(data) + 1):
        with pytest.raises(lw.UnverifiedError, match="expect="):
            read.context.decrypt(read)
        with pytest.raises(lw.UnverifiedError):
            read.context.noise_budget(read)
    np.testing.assert_array_equal(client.decrypt(client.from_bytes(data, trusted=True)), a)
    for other in (lambda x, _: x, lambda x, _: x.sum(), lambda x, _: (x * 3).sum()):
        with pytest.raises((lw.DecryptError, lw.WireError)):
            client.from_bytes(result, expect=lw.record(other, [a, a], context=client))
    with pytest.raises(lw.TraceError, match="return what it computed"):
        lw.record(lambda x: 3, a, context=client)
    for length in (0, 9, len(result) // 2, len(result) - 1):
        with pytest.raises(lw.WireError):
            client.from_bytes(result[:length])
    with pytest.raises(lw.WireError, match="another key set"):
        lw.bgv("bgv-n12").from_bytes(data)


def test_secrets_are_saved(exact, tmp_path):
    path = tmp_path / "secret"
    exact.save_secret(path, passphrase="correct horse")
    assert path.stat().st_mode & 0o077 == 0
    data = exact.encrypt([1, 2, 3]).to_bytes()
    again = lw.integers.load(path, passphrase="correct horse")
    np.testing.assert_array_equal(again.decrypt(again.from_bytes(data, trusted=True) * 2), [2, 4, 6])
    with pytest.raises(lw.WireError):
        lw.integers.load(path, passphrase="wrong horse")


def test_words_wrap_as_numpys(rng):
    ctx = lw.bgv("zn64-n13")
    a, b, c, d = rng.integers(0, 2**64, (4, 300), dtype=np.uint64)
    a[:4], b[:4] = [0, 1, 2**64 - 1, 2**63], [2**64 - 1, 2**64 - 1, 2**64 - 1, 3]
    x, y, z, w = map(ctx.encrypt, (a, b, c, d))
    assert x.dtype == np.uint64

    def same(got, wanted):
        found = ctx.decrypt(got)
        assert found.dtype == np.uint64
        np.testing.assert_array_equal(found, wanted)

    same(x + y, a + b)
    same(x - y, a - b)
    same(-x, -a)
    same((x * y) * (z * w), (a * b) * (c * d))
    same(x * b + 7, a * b + np.uint64(7))
    same(5 - x * c, np.uint64(5) - a * c)
    same((x * y).sum(), (a * b).sum())
    wide = ctx.decrypt(x * y - z, wide=True)
    exact = [int(p) * int(q) - int(r) for p, q, r in zip(a, b, c, strict=True)]
    assert wide.tolist() == exact
    assert min(exact) < 0
    assert max(exact) > 2**126
    # Both sides, by bytes; the client expects what it records.
    program = lambda p, q: p * q + q  # noqa: E731
    ctx.prepare(program, (a, b))
    client, server = ctx.client(), ctx.server()
    sent = [server.from_bytes(client.encrypt(one).to_bytes()) for one in (a, b)]
    answer = program(*sent).to_bytes()
    got = client.from_bytes(answer, expect=lw.record(program, (a, b), context=client))
    np.testing.assert_array_equal(client.decrypt(got), a * b + b)
    with pytest.raises(lw.UnverifiedError):
        client.decrypt(client.from_bytes(answer))
    with pytest.raises(lw.DecryptError):
        client.from_bytes(answer, expect=lw.record(lambda p, q: p + q, (a, b), context=client))


def test_mistakes_with_words():
    ctx = lw.bgv("zn64-n12")
    x = ctx.encrypt(np.array([1, 2**64 - 1], dtype=np.uint64))
    with pytest.raises(lw.LevelError, match="tell apart"):
        (x * x) * x
    big = ctx.encrypt(np.full(2, 2**64 - 1, dtype=np.uint64))
    with pytest.raises(lw.LevelError, match=r"192.0 bits, and the plaintext moduli of this set tell apart 135.0 bits"):
        (x * big) * np.uint64(2**64 - 1)
    with pytest.raises(lw.DtypeError, match="one kind"):
        x + ctx.encrypt([1, 2])
    with pytest.raises(lw.DtypeError, match="negative"):
        x + np.array([-1, 2])
    with pytest.raises(lw.DtypeError, match="one kind"):
        x.rotate(1)
    with pytest.raises(lw.DtypeError, match="wide=True"):
        ctx.decrypt(ctx.encrypt([1]), wide=True)
    data = bytearray(x.to_bytes())
    with pytest.raises(lw.WireError):
        ctx.from_bytes(bytes(data[:-7]))
    with pytest.raises(lw.EncodeError):
        ctx.encrypt(np.zeros(5000, dtype=np.uint64))


def test_sums_are_numpys_along_the_last_axis(exact):
    a = np.arange(6).reshape(2, 3)
    x = exact.encrypt(a)
    assert exact.decrypt(np.sum(x, axis=-1)).tolist() == exact.decrypt(x.sum(axis=1)).tolist() == [3, 12]
    assert exact.decrypt(np.sum(exact.encrypt(a[0]))) == 3
    for axis in (None, 0, 2):
        with pytest.raises(lw.ShapeError, match="wanted the last axis"):
            x.sum(axis=axis)
    with pytest.raises(lw.KeyMissing, match="zn64-n13 for 64-bit words"):
        lw.bgv("zn64-n12").encrypt(np.array([3, 4], dtype=np.uint64)).sum()
