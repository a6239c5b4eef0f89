"""Client and server, bytes and files, threads, interrupts, logs, shadows."""

import _thread
import logging
import resource
import signal
import threading
import time
from functools import partial

import limbwise as lw
import numpy as np
import pytest
from conftest import close


def program(x, y):
    return (x * y + x).sum() * 0.5


def test_a_server_computes_and_cannot_decrypt(tmp_path, rng):
    owner = lw.ckks(depth=4, slots=256, precision=22)
    a, b = rng.uniform(-1, 1, 50), rng.uniform(-1, 1, 50)
    owner.prepare(program, [a, b])
    assert any("relinearization" in key["name"] for key in list(owner.keys()))
    owner.save_keys(tmp_path / "keys")
    keys = owner.keys_to_bytes()
    assert keys == (tmp_path / "keys").read_bytes()
    client = owner.client()
    assert [side in repr(c) for c, side in ((owner, "both sides"), (client, "client"), (owner.server(), "server"))] == [
        True
    ] * 3
    sent = [client.encrypt(v, bound=1.0).to_bytes() for v in (a, b)]
    for server in (lw.server(keys), owner.server(tmp_path / "keys")):
        assert not server.has_secret
        x, y = (server.from_bytes(data) for data in sent)
        result = program(x, y)
        with pytest.raises(lw.KeyMissing, match="secret key"):
            server.decrypt(result)
        with pytest.raises(lw.KeyMissing, match="secret key"):
            server.encrypt([1.0])
        with pytest.raises(lw.KeyMissing, match=r"needs Galois key \d+ \(rotation by 3\)"):
            server.from_bytes(client.encrypt(np.ones(256), bound=1).to_bytes()).rotate(3)
        recording = lw.record(program, [lw.like(50), lw.like(50)], context=client)
        back = client.from_bytes(result.to_bytes(), expect=recording)
        close(client.decrypt(back), program(a, b), 1e-3)
    with pytest.raises(lw.KeyMissing):
        (client.encrypt([1.0]) * client.encrypt([1.0])).settle()
    # Fresh ciphertexts keep half as a seed.
    assert len(sent[0]) < 0.6 * client.encrypt(a).nbytes


def test_secrets_are_saved_and_loaded(tmp_path):
    owner = lw.ckks(depth=2, slots=64)
    path = tmp_path / "secret"
    # Without room the file that was there stays.
    path.write_bytes(b"before")
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (900, room[1]))
    try:
        for save in (partial(owner.save_secret, replace=True), owner.encrypt([0.5], bound=1.0).save):
            with pytest.raises(OSError, match="File too large"):
                save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, room)
        signal.signal(signal.SIGXFSZ, before)
    assert path.read_bytes() == b"before"
    assert not list(tmp_path.glob(".*.tmp"))
    with pytest.raises(lw.WireError, match="an empty passphrase"):
        owner.save_secret(path, passphrase="", replace=True)
    # It may be another key, which nobody can make again.
    for other in (owner, lw.tfhe.keys(), lw.bgv()):
        with pytest.raises(FileExistsError, match="choose another name"):
            other.save_secret(path)
    assert path.read_bytes() == b"before"
    assert [file.name for file in tmp_path.iterdir()] == ["secret"]
    owner.save_secret(path, passphrase="correct horse", replace=True)
    assert path.stat().st_mode & 0o077 == 0
    again = lw.load(path, passphrase="correct horse")
    close(again.decrypt(again.from_bytes(owner.encrypt([0.5, 0.25], bound=1).to_bytes(), trusted=True) * 2), [1.0, 0.5])
    with pytest.raises(lw.WireError):
        lw.load(path, passphrase="wrong horse")


def test_hostile_bytes_are_errors(ctx, rng):
    good = ctx.encrypt(rng.uniform(-1, 1, (3, 5)), bound=1.0).to_bytes()
    with pytest.raises(lw.WireError, match="would leak"):
        ctx.encrypt([0.5]).to_bytes()
    with pytest.raises(lw.WireError):
        lw.server(good)
    with pytest.raises(lw.WireError):
        ctx.from_bytes("text")
    for length in [0, 5, 9, 40, len(good) // 2, len(good) - 1]:
        with pytest.raises(lw.WireError):
            ctx.from_bytes(good[:length])
    refused = 0
    for _ in range(200):
        bad = bytearray(good)
        bad[rng.integers(0, 400)] ^= 1 << rng.integers(0, 8)
        try:
            ctx.from_bytes(bytes(bad))
        except (lw.WireError, lw.LimbwiseError):
            refused += 1
    assert refused > 150
    with pytest.raises(lw.WireError):
        lw.ckks("n13-l3-s40").from_bytes(good)


def test_a_device_that_is_not_there_is_an_error():
    with pytest.raises(lw.LimbwiseError, match='there is no device "abacus"'):
        lw.ckks(depth=1, device="abacus")


def test_threads_get_what_one_gets(ctx, rng):
    a = rng.uniform(-1, 1, 500)
    x = ctx.encrypt(a)
    results = [None] * 6

    def work(i):
        results[i] = ctx.decrypt((x * x + float(i)) * x)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for i, got in enumerate(results):
        close(got, (a * a + i) * a)


def test_other_threads_run_while_one_computes():
    ctx = lw.ckks(depth=8, slots=4096)
    x = ctx.encrypt(np.linspace(-1, 1, 4096))
    x * x  # the key
    counted, running = [0], [True]

    def count():
        while running[0]:
            counted[0] += 1
            time.sleep(0)

    counter = threading.Thread(target=count)
    counter.start()
    lw.function(x, np.sin, interval=1, degree=127)
    running[0] = False
    counter.join()
    assert counted[0] > 100


def test_an_interrupt_ends_a_long_call(monkeypatch):
    ctx = lw.ckks(depth=12, slots=1 << 13, precision=25)
    x = ctx.encrypt(np.linspace(-1, 1, 1 << 13))
    lw.function(x, np.sin, interval=1, degree=7)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(200):
            lw.function(x, np.sin, interval=1, degree=1000)
    close(ctx.decrypt(x), np.linspace(-1, 1, 1 << 13))


def interrupted(call, after):
    """Return how long a call goes on after an interrupt; what it was about to return is not seen."""
    timer = threading.Timer(after, _thread.interrupt_main)
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call()
    return time.monotonic() - start - after


@pytest.mark.parametrize("stage", ["keys", "iteration 1"])
def test_an_interrupt_ends_a_training(stage):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    model = lw.LogisticRegression(iterations=2, degree=3)
    seen = []

    class Bar:
        def update_to(self, name, done, total):
            seen.append(name)
            if name == stage:
                _thread.interrupt_main()

        def close(self):
            pass

    with lw.progress(Bar()), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert seen[-1] == stage, "nothing went on"
    assert not hasattr(model, "coef_")


def test_an_interrupt_ends_plans_and_timings():
    small = lw.Params.preset("boot-n15").on_ring(11, insecure="a test")

    def deep(x):
        for _ in range(12):
            x = (x * x).bounded_by(1.0)
        return x

    recording = lw.record(deep, lw.like(64), preset=small, slots=64)
    assert interrupted(lambda: [lw.plan(recording, memory="64GB") for _ in range(100)], 0.3) < 2
    assert interrupted(lambda: [lw.time(recording, "ark") for _ in range(1000)], 0.3) < 2


def test_keys_are_said_and_progress_is_shown(caplog):
    ctx = lw.ckks(depth=2, slots=64)
    seen = []

    class Bar:
        def update_to(self, name, done, total):
            seen.append((name, done, total))

        def close(self):
            seen.append("closed")

    with caplog.at_level(logging.INFO, logger="limbwise"), lw.progress(Bar()):
        ctx.prepare(lambda x: (x * x).sum(), np.ones(64))
    assert "made the relinearization key" in caplog.text
    assert "MB" in caplog.text or "kB" in caplog.text
    assert seen[-1] == "closed"
    assert ("keys", 7, 7) in seen


def test_shadows_name_the_first_operation_that_goes_wrong():
    ctx = lw.ckks(depth=3, slots=64, shadow=True)
    x = ctx.encrypt([0.5, -0.25])
    y = x * x + 1
    close(y.shadow, np.array([1.25, 1.0625]))
    mean, least = y.measured_bits()
    assert mean > least > 12
    assert lw.ckks(depth=1, slots=8).encrypt([1.0]).shadow is None
    strict = lw.ckks(depth=3, slots=64, shadow=1e-12)
    with pytest.raises(lw.ShadowError, match="multiply is the first operation"):
        strict.encrypt([0.5, -0.25]) * 0.3
    # A value larger than its modulus is none that is wrong, while a difference brings it back.
    small = lw.ckks(depth=3, slots=64, shadow=1e-3)
    x = small.encrypt([0.5, -0.25], level=0)
    doubled = [x]
    for _ in range(12):
        doubled.append(doubled[-1] + doubled[-1])
    with pytest.raises(lw.DecryptError):
        small.decrypt(doubled[-1])
    back = doubled.pop()
    for less in reversed(doubled):
        back = back - less
    close(small.decrypt(back), np.array([0.5, -0.25]), 1e-3)
