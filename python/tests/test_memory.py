"""Keys on disk, caps, budgets; and that arrays are not copied on their way to the encoder."""

import tracemalloc
from pathlib import Path

import limbwise as lw
import numpy as np
import pytest
from conftest import close


def test_keys_on_disk_serve_as_those_in_memory(tmp_path):
    v = np.linspace(-1, 1, 256)
    ctx = lw.ckks(depth=2, slots=256, keys=tmp_path, memory="1MB")
    x = ctx.encrypt(v)
    close(ctx.decrypt((x * x).sum()), np.sum(v * v), 1e-3)
    close(ctx.decrypt((x * x).sum()), np.sum(v * v), 1e-3)
    files = list(tmp_path.glob("*/*.keys"))
    assert len(files) == len(list(ctx.keys())) == 9
    sent = ctx.encrypt(v, bound=1.0).to_bytes()
    keys = tmp_path / "keys"
    ctx.save_keys(keys)
    assert keys.read_bytes() == ctx.keys_to_bytes()
    for server in (lw.server(keys, memory="1MB"), lw.server(keys), ctx.server(keys, memory="1MB"), ctx.server()):
        assert not server.has_secret
        assert len(list(server.keys())) == len(files)
        y = server.from_bytes(sent)
        close(ctx.decrypt(ctx.from_bytes((y * y).sum().to_bytes(), trusted=True)), np.sum(v * v), 1e-3)
        with pytest.raises(lw.KeyMissing, match="rotation by 3"):
            y.rotate_slots(3)
    del server, y, x, ctx
    assert not list(tmp_path.glob("*/*.keys")), "files go with the context"


def test_a_key_file_that_is_cut_is_an_error_of_the_operation(tmp_path):
    ctx = lw.ckks(depth=2, slots=64)
    sent = ctx.encrypt(np.ones(64), bound=1.0)
    sent.sum()
    ctx.save_keys(tmp_path / "keys")
    server = lw.server(tmp_path / "keys", memory=1)
    whole = (tmp_path / "keys").read_bytes()
    (tmp_path / "keys").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(lw.KeyMissing, match="cannot be read"):
        server.from_bytes(sent.to_bytes()).sum()
    for mistake in (lambda: lw.server(tmp_path / "keys", memory=1), lambda: lw.server(tmp_path / "keys")):
        with pytest.raises(lw.WireError):
            mistake()
    with pytest.raises(FileNotFoundError):
        lw.server(tmp_path / "none")


def test_rotation_keys_may_be_counted():
    ctx = lw.ckks(depth=2, slots=64, most_rotation_keys=6)
    x = ctx.encrypt(np.linspace(0, 1, 64))
    (x * x).sum()
    with pytest.raises(lw.KeyMissing, match="beyond the 6 rotation keys"):
        x.rotate_slots(3)
    close(ctx.decrypt(x.rotate_slots(4)), np.roll(np.linspace(0, 1, 64), -4))
    with pytest.raises(lw.ParamsError, match="whole number from 0"):
        lw.ckks(depth=2, most_rotation_keys=-1)
    with pytest.raises(lw.ParamsError, match="pathlib"):
        lw.ckks(depth=2, keys="folder")


def test_arrays_beyond_the_budget_are_refused_before_they_are_encrypted():
    ctx = lw.ckks(depth=2, slots=1024, memory="20MB")
    with pytest.raises(lw.MemoryBudgetError, match=r"ciphertexts, .* where the context's budget is 20 MB"):
        ctx.encrypt(np.zeros((1000, 1000)))
    # Far beyond any memory, without taking any: the array is one number seen many times.
    endless = np.broadcast_to(0.0, (1 << 20, 1 << 20))
    with pytest.raises((lw.MemoryBudgetError, MemoryError)):
        lw.ckks(depth=2, slots=1024).encrypt(endless)


def test_arrays_are_not_copied_on_their_way_to_the_encoder():
    ctx = lw.ckks(depth=2, slots=4096)
    a = np.linspace(-1, 1, 1 << 16)
    x = ctx.encrypt(a)
    out = []
    for name, call in [
        ("encrypt", lambda: ctx.encrypt(a)),
        ("add", lambda: x + a),
        ("subtract", lambda: x - a),
        ("subtract from", lambda: a - x),
        ("multiply", lambda: x * a),
        ("shaped", lambda: ctx.encrypt(a.reshape(256, 256))),
    ]:
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # A test of finiteness takes a byte a number; a copy would take eight.
        out.append((name, peak))
        assert peak < 2 * a.size, (name, peak, a.nbytes)
    tracemalloc.start()
    got = ctx.decrypt(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert got.nbytes <= peak < got.nbytes + a.size


def test_views_and_other_types_are_read_rightly():
    ctx = lw.ckks(depth=1, slots=64)
    a = np.arange(24.0).reshape(4, 6) / 24
    frozen = a.copy()
    frozen.flags.writeable = False
    for view in (a.T, a[::2], a[:, ::-1], a.astype(np.float32), np.asfortranarray(a), a > 0.5, frozen, a.tolist()):
        close(ctx.decrypt(ctx.encrypt(view)), np.asarray(view, dtype=float))


def test_paths_may_be_text_or_path(tmp_path):
    ctx = lw.ckks(depth=1, slots=8)
    x = ctx.encrypt([0.5], bound=1)
    for path in (str(tmp_path / "a"), tmp_path / "b"):
        x.save(path)
        close(ctx.decrypt(ctx.load(path, trusted=True)), [0.5])
        ctx.save_keys(path)
        assert not lw.server(path).has_secret
        assert Path(path).exists()
