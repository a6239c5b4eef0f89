"""Encrypted integers and booleans give what NumPy's give, at parameters for tests."""

import limbwise as lw
import numpy as np
import pytest
from conftest import SMALL_INTEGERS as SMALL


@pytest.fixture(scope="session")
def keys(small_integers):
    return small_integers


@pytest.mark.parametrize("dtype", [np.uint8, np.int16])
def test_operators(keys, dtype):
    info = np.iinfo(dtype)
    a = np.array([[info.min, info.max, 5], [0, 77, 100]], dtype)
    b = np.array([[1, info.max, 6], [0, 3, info.max - 1]], dtype)
    x, y = keys.encrypt(a), keys.encrypt(b)
    for got, wanted in [
        (x + y, a + b),
        (x - y, a - b),
        (x * y, a * b),
        (x + 7, a + dtype(7)),
        (3 * x, a * dtype(3)),
        (9 - x, dtype(9) - a),
        (-x, -a),
        (~x, ~a),
        (x & y, a & b),
        (x | 12, a | dtype(12)),
        (x ^ y, a ^ b),
        (x << 3, a << 3),
        (x >> 2, a >> 2),
        (x < y, a < b),
        (x <= 6, a <= 6),
        (x == y, a == b),
        (x != 5, a != 5),
        (x >= y, a >= b),
        ((x > y) & (x > 3), (a > b) & (a > 3)),
        (~(x == y) | (y < 2), ~(a == b) | (b < 2)),
        (lw.tfhe.where(x < y, x, y), np.minimum(a, b)),
        (x.maximum(y), np.maximum(a, b)),
    ]:
        found = keys.decrypt(got)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_extremes_with_clear_numbers(keys, dtype):
    info = np.iinfo(dtype)
    a = np.array([info.min, info.max, 0, 2, 3, 5, 100], dtype)
    x = keys.encrypt(a)
    for number in (0, 3, 5, int(info.min), int(info.max)):
        np.testing.assert_array_equal(keys.decrypt(x.minimum(number)), np.minimum(a, dtype(number)))
        np.testing.assert_array_equal(keys.decrypt(x.maximum(number)), np.maximum(a, dtype(number)))
    one = keys.encrypt(np.array([3], dtype))
    both = np.minimum(a, dtype(3)) + np.maximum(a, dtype(3))
    np.testing.assert_array_equal(keys.decrypt(x.minimum(one) + x.maximum(3)), both)
    with pytest.raises(lw.EncodeError, match="300 is outside"):
        x.maximum(300)
    with pytest.raises(lw.DtypeError, match="give encrypted values, or integers"):
        x.minimum(1.5)
    for shift in (lambda: x << -1, lambda: x >> np.int8(-1)):
        with pytest.raises(lw.ShapeError, match="the number is negative; shift the other way, by 1"):
            shift()


def test_extremes_of_booleans(keys):
    a, b = np.array([True, False, True, False]), np.array([True, True, False, False])
    x, y = keys.encrypt(a), keys.encrypt(b)
    np.testing.assert_array_equal(keys.decrypt(x.minimum(y)), np.minimum(a, b))
    np.testing.assert_array_equal(keys.decrypt(x.maximum(y)), np.maximum(a, b))
    np.testing.assert_array_equal(keys.decrypt(x.minimum(1)), np.minimum(a, 1))


def test_clear_values_where_encrypted_ones_belong(keys):
    x = keys.encrypt(np.array([1, 2], np.uint8))
    with pytest.raises(lw.DtypeError, match="is not encrypted: pass what keys"):
        keys.decrypt(None)
    with pytest.raises(lw.DtypeError, match=r"use np\.where"):
        lw.tfhe.where([True], 1, 0)
    for other in (None, 1.5):
        with pytest.raises(lw.DtypeError, match="is not compared with"):
            x == other
        with pytest.raises(lw.DtypeError, match="is not compared with"):
            x != other
    with pytest.raises(lw.DtypeError, match="dtypes that have them: int8, int16, int32, int64"):
        keys.encrypt([-1, 5], np.uint8)
    with pytest.raises(lw.DtypeError, match="round them first"):
        keys.encrypt([1.0], np.uint8)


def test_wide_integers_and_single_values(keys):
    a, b = np.array([2**63 + 5, 2**64 - 1, 7], np.uint64), np.array([3], np.uint64)
    x, y = keys.encrypt(a), keys.encrypt(b)
    np.testing.assert_array_equal(keys.decrypt(x + y), a + b)
    np.testing.assert_array_equal(keys.decrypt(y < x), b < a)
    one = keys.encrypt(np.int64(-4))
    assert keys.decrypt(one - 3) == -7
    assert keys.decrypt(one).shape == ()
    assert keys.decrypt(keys.encrypt([1, 2], np.uint8)).dtype == np.uint8


def test_mistakes(keys, tmp_path):
    x = keys.encrypt(np.array([1, 2], np.uint8))
    with pytest.raises(lw.DtypeError, match="float64: encrypt bool"):
        keys.encrypt([1.5])
    with pytest.raises(lw.DtypeError, match="from 1 to 300 are not all uint8"):
        keys.encrypt([1, 300], np.uint8)
    with pytest.raises(lw.ShapeError, match="nothing to encrypt"):
        keys.encrypt(np.zeros(0, np.uint8))
    for call in (lambda: x + np.ones(3, np.uint8), lambda: np.ones(3, np.uint8) * x, lambda: x < [1, 2, 3]):
        with pytest.raises(lw.ShapeError, match="do not broadcast"):
            call()
    with pytest.raises(lw.DtypeError, match="are float64 together"):
        x.astype(np.uint64) + keys.encrypt(np.array([1, 2], np.int8))
    with pytest.raises(lw.ShapeError, match="do not broadcast"):
        x + keys.encrypt(np.array([1, 2, 3], np.uint8))
    with pytest.raises(lw.EncodeError, match="256 is outside uint8's 0 to 255"):
        x + 256
    with pytest.raises(lw.DtypeError, match=r"use lw\.tfhe\.where"):
        bool(x == x)  # noqa: PLR0124 - encrypted values have no truth
    with pytest.raises(lw.DtypeError, match="sub is for encrypted integers"):
        (x == 1) - (x == 2)
    with pytest.raises(TypeError):
        x + 1.5
    with pytest.raises(lw.ParamsError, match="there is no TFHE preset"):
        lw.tfhe.keys("2-2-p9")
    with pytest.raises(lw.ParamsError, match="cannot read"):
        lw.tfhe.keys(tmp_path / "absent.toml")
    (tmp_path / "other.toml").write_text(SMALL)
    with pytest.raises(lw.ContextError, match="other keys"):
        lw.tfhe.keys(tmp_path / "other.toml").decrypt(x)
    assert "INSECURE: a test" in repr(keys)


def program(x, y):
    return lw.tfhe.where(x < y, x + y, y)


@pytest.fixture(scope="module")
def sent(keys):
    a, b = np.array([3, 200, 9], np.uint8), np.array([5, 100, 9], np.uint8)
    client = keys.client()
    return a, b, [client.encrypt(v).to_bytes() for v in (a, b)]


def test_a_server_computes_and_cannot_decrypt(keys, sent, tmp_path):
    a, b, data = sent
    client = keys.client()
    keys.save_keys(tmp_path / "keys")
    for server in (lw.tfhe.server(tmp_path / "keys"), keys.server()):
        assert (server.has_secret, client.has_secret) == (False, True)
        result = program(*(server.from_bytes(one) for one in data))
        for attempt in (server.decrypt, lambda _, server=server: server.encrypt(a)):
            with pytest.raises(lw.KeyMissing, match="secret key"):
                attempt(result)
        recording = lw.record(program, [a, b], context=client)
        got = client.decrypt(client.from_bytes(result.to_bytes(), expect=recording))
        np.testing.assert_array_equal(got, np.where(a < b, a + b, b))
    with pytest.raises(lw.KeyMissing, match="bootstrapping key"):
        client.encrypt(a) + 1


def test_nothing_read_from_bytes_is_decrypted_unless_it_is_expected(keys, sent):
    a, b, data = sent
    client, server = keys.client(), keys.server()
    result = program(*(server.from_bytes(one) for one in data)).to_bytes()
    for read in (client.from_bytes(result), keys.from_bytes(data[0]) + 1):
        with pytest.raises(lw.UnverifiedError, match="expect="):
            read.keys.decrypt(read)
    np.testing.assert_array_equal(client.decrypt(client.from_bytes(data[0], trusted=True)), a)
    for other in (lambda x, _: x, lambda x, y: x < y, lambda x, y: (x + y) < 4):
        with pytest.raises((lw.DecryptError, lw.WireError)):
            client.from_bytes(result, expect=lw.record(other, [a, b], context=client))
    with pytest.raises(lw.WireError, match="as recorded"):
        client.from_bytes(result, expect=lw.record(program, [a[:2], b[:2]], context=client))
    two = lw.record(lambda x, y: (x, y), [a, b], context=client)
    with pytest.raises(lw.ShapeError, match="2 results"):
        client.from_bytes(result, expect=two)
    with pytest.raises(lw.TraceError, match="return what it computed"):
        lw.record(lambda x, _: 3, [a, b], context=client)
    for length in (0, 9, len(result) // 2, len(result) - 1):
        with pytest.raises(lw.WireError):
            client.from_bytes(result[:length])


def test_secrets_are_saved_and_other_keys_told_apart(keys, sent, tmp_path):
    a, _, data = sent
    path = tmp_path / "secret"
    keys.save_secret(path, passphrase="correct horse")
    assert path.stat().st_mode & 0o077 == 0
    again = lw.tfhe.load(path, passphrase="correct horse")
    np.testing.assert_array_equal(again.decrypt(again.from_bytes(data[0], trusted=True) + 1), a + 1)
    with pytest.raises(lw.WireError):
        lw.tfhe.load(path, passphrase="wrong horse")
    (tmp_path / "other.toml").write_text(SMALL)
    other = lw.tfhe.keys(tmp_path / "other.toml")
    with pytest.raises(lw.WireError, match="another key set"):
        other.from_bytes(data[0])
