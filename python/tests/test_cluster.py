"""Programs on a Ray cluster of two nodes in this computer: the same bits, whatever dies, and no secret key anywhere."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import limbwise as lw
import numpy as np
import pytest
from limbwise import _nodes

# How often each of worker, node and driver is killed; 50 in a campaign.
KILLS = int(os.environ.get("LIMBWISE_KILLS", "2"))

TFHE = """log_n = 10
masks = 1
prime = 48
glwe_sigma = 3.2
lwe_dimension = {dimension}
log_lwe_modulus = 32
lwe_sigma = 3.2
message_bits = {bits}
norm = 5.0
log2_failure = -40.0
[bootstrap]
base_log = 16
levels = 2
[key_switch]
base_log = 4
levels = 5
[insecure]
reason = "a test of clusters"
"""
CKKS = """log_n = 11
levels = [[46], [40], [40], [40], [40], [26, 26], [46], [46], [46], [46], [46], [46], [46], [43], [43]]
special = [50, 50, 50]
dnum = 6
log_scale = 40
[insecure]
reason = "a test of clusters"
[bootstrapping]
slot-to-coeff = 1
coeff-to-slot = 2
message-ratio = 2
ephemeral-weight = 32
eval-mod = { range = 16, degree = 31, double-angles = 3, sine = { cosine = { arcsine = 0 } } }
"""

pytestmark = pytest.mark.filterwarnings("ignore::limbwise.errors.InsecureWarning", "ignore::FutureWarning")


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="pip install 'limbwise[ray]'")
    from ray.cluster_utils import Cluster

    # Nodes keep files here; the name is short because sockets stand in it.
    place = Path(tempfile.mkdtemp(prefix="lw-", dir="/tmp"))
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "nodes").symlink_to(place)
    node = {"num_cpus": 1, "object_store_memory": 90 << 20}
    made = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    made.node = node
    made.second = made.add_node(**node)
    yield made
    made.shutdown()
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def small(tmp_path):
    (tmp_path / "ckks.toml").write_text(CKKS)
    (tmp_path / "tfhe.toml").write_text(TFHE.format(dimension=60, bits=4))
    (tmp_path / "pbs.toml").write_text(TFHE.format(dimension=60, bits=2))
    return tmp_path


def sides(place: Path, parts: int, batch: int = 4, name: str = "a") -> tuple[Any, Any, list[Path]]:
    """Keys, and encrypted parts."""
    client, server = lw.workload("pbs", batch=batch, preset=place / "pbs.toml").keygen(
        place / f"{name}-mine", place / f"{name}-theirs"
    )
    places = [place / f"{name}-in-{number}" for number in range(parts)]
    for part in places:
        client.encrypt(part)
    return client, server, places


def bits(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(place.glob("*.ct"))}


def evaluated_here(server: Any, parts: list[Path], place: Path) -> list[dict[str, bytes]]:
    found = []
    for number, part in enumerate(parts):
        server.evaluate(part, place / f"here-{number}")
        found.append(bits(place / f"here-{number}"))
    return found


@pytest.mark.parametrize("share", [True, False])
def test_parts_have_the_bits_of_one_computer_and_keys_come_once(cluster, small, share) -> None:
    client, server, parts = sides(small, 7)
    heard: list[dict[str, Any]] = []
    done = lw.cluster.run(
        client, server, parts, out=small / "out", address=cluster.address, tell=heard.append, share_files=share
    )
    assert (done.refused, done.known, done.total) == ({}, 0, None)
    assert [bits(part) for part in done.parts] == evaluated_here(server, parts, small)
    assert client.compare(done.parts[3], inputs=parts[3])["wrong"] == 0
    left = [what["done"]["left_seconds"] for what in heard if "done" in what]
    assert len(left) == 7
    assert left[-1] == 0
    # Whatever the number of parts, a node has its keys once, as one file, or a name of the one that is there.
    starts = [what for what in heard if "has its keys" in what.get("note", "")]
    keys = list((small / "nodes").glob("limbwise-node-*/*/bootstrap.keys"))
    assert len(starts) <= 2
    assert [key.is_symlink() for key in keys] == [share]
    again = lw.cluster.run(client, server, parts, out=small / "out", address=cluster.address)
    assert again.known == 7


def test_what_is_wrong_is_said_and_leaves_the_rest_alone(cluster, small) -> None:
    client, server, parts = sides(small, 3)
    other, others, _ = sides(small, 0, batch=5, name="b")
    with pytest.raises(lw.errors.WireError, match="keys of another program"):
        lw.cluster.run(other, server, parts, out=small / "out", address=cluster.address)
    # A secret key under a public name does not leave this computer.
    (small / "b-theirs" / "bootstrap.keys").write_bytes((small / "b-mine" / "secret.tfhe.key").read_bytes())
    with pytest.raises(lw.errors.WireError, match="not the server's keys"):
        lw.cluster.run(other, others, parts, out=small / "out", address=cluster.address)
    damaged = next(iter(parts[1].glob("*.ct")))
    content = bytearray(damaged.read_bytes())
    content[-20] ^= 1
    damaged.write_bytes(content)
    done = lw.cluster.run(client, server, parts, out=small / "out", address=cluster.address)
    assert list(done.refused) == [1]
    assert "damaged" in done.refused[1] or "checksum" in done.refused[1]
    assert done.parts[1] is None
    assert client.compare(done.parts[2], inputs=parts[2])["wrong"] == 0


def test_nodes_of_another_version_are_not_used(cluster, small, monkeypatch) -> None:
    client, server, parts = sides(small, 1)
    monkeypatch.setattr("limbwise.cluster.__version__", "0.0.1")
    with pytest.raises(lw.cluster.ClusterError, match=r"this is 0\.0\.1: install this version"):
        lw.cluster.run(client, server, parts, out=small / "out", address=cluster.address)


def test_without_ray_it_is_said(small, monkeypatch) -> None:
    client, server, parts = sides(small, 1)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(lw.errors.MissingDependency, match=r"limbwise\[ray\]"):
        lw.cluster.run(client, server, parts, out=small / "out")


def limbwise(place: Path, *words: str) -> subprocess.Popen[str]:
    start = [sys.executable, "-c", "from limbwise._command import main; main()", *words]
    return subprocess.Popen(start, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def query(cluster: Any, rows: int, part: int, *words: str) -> list[str]:
    on = ["--on", f"ray:{cluster.address}", "--part", str(part), "--json"]
    return ["run", "tpch-q6", "--rows", str(rows), "--preset", "ckks.toml,tfhe.toml", *on, *words]


def test_query_6_is_summed_under_encryption_and_resumed(cluster, small) -> None:
    words = query(cluster, 300, 32, "--checkpoint", "state")
    out, err = limbwise(small, *words).communicate(timeout=600)
    report = json.loads(out)
    assert (report["parts"], report["known"], report["wrong"], report["compared"]) == (10, 0, 0, 320), err
    assert report["answer"]["exact"] == "10214.0129"
    assert report["answer"]["relative_error"] < 1e-4
    total = bits(small / "state" / "out" / "total")
    again = json.loads(limbwise(small, *words).communicate(timeout=600)[0])
    assert again["known"] == 10
    assert bits(small / "state" / "out" / "total") == total
    # A client opens the sum by itself, and only as the sum of these parts, in this order.
    mine = lw._workloads.ClientFiles(small / "state" / "client")
    parts = sorted((small / "state" / "in").iterdir())
    (answer,) = mine.decrypt(small / "state" / "out" / "total", parts=parts)
    assert abs(answer.values[0] - 10214.0129) < 1
    with pytest.raises(lw.errors.LimbwiseError, match="inputs"):
        mine.decrypt(small / "state" / "out" / "total", parts=parts[::-1])


def test_groups_are_summed_under_encryption(cluster, small) -> None:
    rows = [(shop, price) for shop, price in zip("abcab" * 20, [*range(1, 50), *[""] * 51], strict=True)]
    (small / "sales.csv").write_text("shop,price\n" + "".join(f"{shop},{price}\n" for shop, price in rows))
    sql = "SELECT shop, COUNT(*), SUM(price), AVG(price) AS mean FROM sales GROUP BY shop HAVING COUNT(*) > 20 ORDER BY 3 DESC"
    words = ["run", "query", "--sql", sql, "--data", "sales.csv", "--preset", "ckks.toml,tfhe.toml", "--part", "50"]
    out, err = limbwise(small, *words, "--on", f"ray:{cluster.address}", "--json").communicate(timeout=600)
    report = json.loads(out)
    assert (report["parts"], report["wrong"], report["table"]["columns"][-1]) == (2, 0, "mean"), err
    wanted = {}
    for shop in "ab":
        prices = [price for name, price in rows if name == shop and price]
        wanted[shop] = [40, sum(prices), sum(prices) / len(prices)]
    found = {name: numbers for name, *numbers in report["table"]["rows"]}
    assert list(found) == sorted(found, key=lambda shop: -wanted[shop][1])
    assert all(np.allclose(found[shop], wanted[shop], atol=1e-6) for shop in wanted)


def evaluators() -> list[int]:
    """Processes that evaluate parts."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"--parts" in words and b"eval" in words:
                found.append(int(process.name))
    return found


def worker_of(evaluator: int) -> int:
    stat = Path(f"/proc/{evaluator}/stat").read_text()
    return int(stat.rsplit(")", 1)[1].split()[1])


def test_kills_of_workers_nodes_and_drivers_change_no_bit(cluster, small) -> None:
    chance = random.Random(int(os.environ.get("LIMBWISE_SEED", "1")))
    words = query(cluster, 480, 20, "--checkpoint", "state")
    kills = [kind for kind in ("evaluator", "worker", "node", "driver") for _ in range(KILLS)]
    chance.shuffle(kills)
    driver, done = limbwise(small, *words), dict.fromkeys(kills, 0)
    for kind in kills:
        # With a driver at work, for as long as it takes.
        deadline = time.monotonic() + 300
        while not evaluators() and time.monotonic() < deadline:
            if driver.poll() is not None:
                assert driver.returncode == 0, driver.communicate()[1]
                # It was through: the same again with nothing of the results there, so that there is something to kill.
                subprocess.run(["rm", "-rf", str(small / "state" / "out")], check=True)
                driver = limbwise(small, *words)
            time.sleep(0.05)
        time.sleep(chance.uniform(0.0, 2.0))
        alive = evaluators()
        if not alive:
            continue
        if kind == "evaluator":
            os.kill(chance.choice(alive), signal.SIGKILL)
        elif kind == "worker":
            os.kill(worker_of(chance.choice(alive)), signal.SIGKILL)
        elif kind == "node":
            cluster.remove_node(cluster.second, allow_graceful=False)
            cluster.second = cluster.add_node(**cluster.node)
        else:
            driver.kill()
            driver.communicate()
            driver = limbwise(small, *words)
        done[kind] += 1
    out, err = driver.communicate(timeout=900)
    assert driver.returncode == 0, err
    report = json.loads(out)
    assert (report["wrong"], report["answer"]["relative_error"] < 1e-4) == (0, True)
    print("killed", done)
    assert sum(done.values()) >= len(kills) // 2
    # Bit for bit what one computer makes of the same encrypted parts.
    state = small / "state"
    here = lw._workloads.ServerFiles(state / "server")
    parts = sorted((state / "in").iterdir())
    found = [bits(part) for part in sorted((state / "out").glob("part-*"))]
    assert found == evaluated_here(here, parts, small)


def needle(path: Path) -> bytes:
    """Bytes that stand in no other file: of the end, where the payload is."""
    content = path.read_bytes()
    return content[-48:-16]


def memory(process: Path) -> Any:
    """The readable memory of a process, a region at a time."""
    with (process / "mem").open("rb") as whole:
        for line in (process / "maps").read_text().splitlines():
            span, rights, *_ = line.split()
            first, last = (int(end, 16) for end in span.split("-"))
            if rights[0] == "r" and last < 1 << 63:
                try:
                    whole.seek(first)
                    yield whole.read(last - first)
                except (OSError, ValueError):
                    continue


def of_cluster() -> list[Path]:
    """Processes of Ray, and those that evaluate; not this one, which is the client."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                words = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if b"ray" in words.split(b"\0")[0] or b"raylet" in words or b"--parts" in words:
                found.append(process)
    return found


def test_no_secret_key_is_in_the_object_store_or_a_memory_map(cluster, small) -> None:
    client, server, parts = sides(small, 4, batch=16)
    secret, public = needle(small / "a-mine" / "secret.tfhe.key"), needle(small / "a-theirs" / "bootstrap.keys")
    seen = {"public": 0, "looked": 0}

    def look(_: dict[str, Any]) -> None:
        for process in of_cluster():
            try:
                for region in memory(process):
                    seen["looked"] += len(region)
                    seen["public"] += public in region
                    assert secret not in region, process
            except (FileNotFoundError, ProcessLookupError):
                continue
        for store in Path("/dev/shm").glob("*"):
            content = store.read_bytes() if store.is_file() else b""
            seen["public"] += public in content
            assert secret not in content, store

    # Keys travel, so that they are in the object store.
    done = lw.cluster.run(
        client, server, parts, out=small / "out", address=cluster.address, tell=look, share_files=False
    )
    assert not done.refused
    assert seen["public"] > 0, "what was looked for would have been found"
    assert seen["looked"] > 1 << 24
    files = [path.name for path in (small / "nodes").resolve().glob("limbwise-node-*/**/*") if path.is_file()]
    assert {"program.json", "bootstrap.keys"} <= set(files)
    assert not [name for name in files if name.startswith("secret")]


def test_only_public_files_are_named() -> None:
    assert set(_nodes.KEY_FILES) == {"evaluation.keys", "bootstrap.keys"}
