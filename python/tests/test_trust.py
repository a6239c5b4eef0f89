"""What a server says of its results is not believed, and what is shared is flooded and counted."""

import os
import warnings

import limbwise as lw
import numpy as np
import pytest
from conftest import close
from limbwise import _files


def program(x):
    return (x * x).sum()


@pytest.fixture(scope="module")
def owner():
    return lw.ckks(depth=4, slots=64, precision=30)


@pytest.fixture(scope="module")
def honest(owner):
    a = np.linspace(-1, 1, 50)
    sent = owner.client().encrypt(a, bound=1.0).to_bytes()
    owner.prepare(program, lw.like(50))
    return a, program(lw.server(owner.keys_to_bytes()).from_bytes(sent)).to_bytes()


def test_nothing_read_from_bytes_is_decrypted_unless_it_is_expected(owner, honest):
    a, data = honest
    client = owner.client()
    read = client.from_bytes(data)
    for attempt in (client.decrypt, client.share, lambda x: owner.decrypt(owner.from_bytes(data) * 2.0 + 1.0)):
        with pytest.raises(lw.UnverifiedError, match="expect="):
            attempt(read)
    recording = lw.record(program, lw.like(50), context=client)
    close(client.decrypt(client.from_bytes(data, expect=recording)), program(a), 1e-5)
    close(client.decrypt(client.from_bytes(data, expect=recording.expected()[0])), program(a), 1e-5)
    close(client.decrypt(client.from_bytes(data, trusted=True)), program(a), 1e-5)


def test_a_result_of_another_program_is_refused(owner, honest):
    _, data = honest
    for other in (lambda x: (x * 2.0).sum(), lambda x: (x * x * x).sum(), lambda x: x * x, lambda x: x.sum()):
        recording = lw.record(other, lw.like(50), context=owner)
        with pytest.raises((lw.DecryptError, lw.WireError)):
            owner.from_bytes(data, expect=recording)
    # Inputs that were promised to be smaller than they are, or that were encrypted under the other key.
    with pytest.raises(lw.DecryptError, match="your own recording"):
        owner.from_bytes(data, expect=lw.record(program, lw.like(50, bound=0.5), context=owner))
    with pytest.raises(lw.DecryptError, match="error"):
        owner.from_bytes(data, expect=lw.record(program, lw.like(50), context=owner).expected(key="public")[0])
    two = lw.record(lambda x: (x, x), lw.like(50), context=owner)
    with pytest.raises(lw.ShapeError, match="2 results"):
        owner.from_bytes(data, expect=two)


def test_numbers_of_the_servers_own_may_enlarge_a_result_as_far_as_is_said(owner):
    weights = np.full(50, 3.0)
    client = owner.client()
    sent = client.encrypt(np.linspace(-1, 1, 50), bound=1.0).to_bytes()
    server = lw.server(owner.keys_to_bytes())
    data = (server.from_bytes(sent) * weights).to_bytes()
    recording = lw.record(lambda x: x * np.ones(50), lw.like(50), context=client)
    with pytest.raises(lw.DecryptError, match="your own recording"):
        client.from_bytes(data, expect=recording)
    got = client.from_bytes(data, expect=recording.expected(gain=4.0)[0])
    close(client.decrypt(got), weights * np.linspace(-1, 1, 50), 1e-5)
    assert got.bound == pytest.approx(4.0)
    for wrong in (0.5, float("nan"), float("inf")):
        with pytest.raises(lw.ParamsError, match="gain"):
            recording.expected(gain=wrong)


def test_keys_of_another_set_under_the_same_parameters_are_told_apart(owner, honest):
    _, data = honest
    other = lw.ckks(depth=4, slots=64, precision=30)
    assert other.params == owner.params
    with pytest.raises(lw.WireError, match="another key set"):
        other.from_bytes(data)
    other.prepare(program, lw.like(50))
    with pytest.raises(lw.WireError, match="another key set"):
        lw.server(other.keys_to_bytes()).from_bytes(data)
    with pytest.raises(lw.WireError, match="another key set"):
        owner.from_bytes(lw.encryptor(other.public_key_to_bytes()).encrypt([0.5], bound=1.0).to_bytes())


def test_every_flipped_bit_of_a_header_is_found(owner, honest):
    _, data = honest
    end = len(data) - len(_files.unframe(data, "array")[1])
    for at in range(end + 184):
        for bit in range(8):
            bad = bytearray(data)
            bad[at] ^= 1 << bit
            with pytest.raises(lw.LimbwiseError):
                owner.from_bytes(bytes(bad))
    # A header of one array before another.
    header, rest = _files.unframe(owner.encrypt(np.ones(64), bound=1.0).to_bytes(), "array")
    with pytest.raises(lw.WireError, match="checksum"):
        owner.from_bytes(data[:end] + rest)
    del header[_files._LENGTH]
    for changed in ({**header, "more": 1}, {k: v for k, v in header.items() if k != "clean"}):
        with pytest.raises(lw.WireError, match="fields"):
            owner.from_bytes(_files.frame("array", changed, rest))


def test_a_header_of_version_1_is_still_read(owner):
    data = owner.encrypt(np.ones(8), bound=1.0).to_bytes()
    start = len(b"LWPY2\n") + 4
    first = b"LWPY1\n" + data[6:start] + data[start + 32 :]
    close(owner.decrypt(owner.from_bytes(first, trusted=True)), np.ones(8), 1e-5)


def test_what_is_shared_is_flooded_and_counted(owner, tmp_path, monkeypatch):
    a = np.linspace(-1, 1, 50)
    ctx = lw.ckks(depth=2, slots=64, precision=40)
    x = ctx.encrypt(a)
    first = ctx.share(x, statistical_bits=10, shared_results=3)
    error = 2.0**-x.expected_bits
    noise = np.abs(first - ctx.decrypt(x))
    assert np.median(noise) > 100 * error
    assert noise.max() < 1e-3
    assert np.abs(first - ctx.client().share(x)).max() > 0, "fresh noise, one count for all sides"
    with pytest.raises(lw.LimbwiseError, match="first sharing"):
        ctx.share(x, statistical_bits=20)
    path = tmp_path / "secret"
    ctx.save_secret(path)
    again = lw.load(path)
    sent = ctx.encrypt(a, bound=1.0).to_bytes()
    as_it_is = lw.record(lambda x: x, lw.like(50), context=again)
    again.share(again.from_bytes(sent, expect=as_it_is))
    for side in (ctx, again, lw.load(path)):
        with pytest.raises(lw.LimbwiseError, match="3 of the 3"):
            side.share(side.from_bytes(sent, trusted=True))
    # The same object, another file, another place: what was shared stays shared.
    ctx.save_secret(tmp_path / "second")
    monkeypatch.chdir(tmp_path)
    lw.load("secret")
    for side in (ctx, lw.load("second"), again):
        with pytest.raises(lw.LimbwiseError, match="3 of the 3"):
            side.share(side.from_bytes(sent, trusted=True))
    with pytest.raises(lw.KeyMissing):
        ctx.server().share(ctx.server().from_bytes(sent, trusted=True))
    with pytest.raises(lw.LimbwiseError, match="cannot be shared"):
        owner.share(owner.encrypt(a), statistical_bits=128)
    # A file that others may read is not written into.
    path.chmod(0o644)
    ctx.save_secret(path, replace=True)
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_forked_child_computes():
    ctx = lw.ckks(depth=3, slots=4096, threads=2)
    a = np.linspace(-1, 1, 4096)
    x = ctx.encrypt(a)
    (x * x).settle()
    child = os.fork()
    if child == 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            right = np.allclose(ctx.decrypt(x * x), a * a, atol=1e-3)
            try:
                ctx.share(x)
                right = False
            except lw.LimbwiseError as error:
                right = right and "forked" in str(error)
        os._exit(0 if right else 1)
    import time

    end = time.monotonic() + 120
    done = (0, 0)
    while done[0] == 0 and time.monotonic() < end:
        done = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if done[0] == 0:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert done == (child, 0), "the child waits for threads that it does not have"
    close(ctx.decrypt(x * x), a * a, 1e-3)


def test_insecure_parameters_warn():
    small = lw.Params.preset("boot-n15").on_ring(11, insecure="a test")
    with pytest.warns(lw.InsecureWarning, match="a test"):
        ctx = lw.ckks(small, slots=8)
    with pytest.warns(lw.InsecureWarning):
        lw.encryptor(ctx.public_key_to_bytes())
    with pytest.warns(lw.InsecureWarning):
        lw.plan(lambda x: x * x, lw.like(8), preset=small, slots=8).context()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.ckks(depth=1, slots=8)
