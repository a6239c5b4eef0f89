"""The command ``limbwise`` of the package, where it starts itself again."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator


#: Too small to be secure, and says so.
TINY = """log_n = 11
levels = [[50], [40]]
special = [50, 50]
dnum = 1
log_scale = 40

[insecure]
reason = "a test of the package"
"""


def command(folder: Path, *words: str) -> None:
    start = [sys.executable, "-P", "-m", "limbwise", *words]
    done = subprocess.run(start, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    """A server of the console script's own function; its address."""
    start = [
        sys.executable,
        "-c",
        "from limbwise._command import main; main()",
        "serve",
        "state",
        "--bind",
        "127.0.0.1:0",
    ]
    with subprocess.Popen(start, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            found = (re.search(r"listening on (http://\S+)", line) for line in lines)
            yield next(match[1] for match in found if match)
        finally:
            process.terminate()
            process.communicate()


def test_a_server_of_the_package_plans_and_runs(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    layer = ["linear", "--op", "matvec", "--rows", "4", "--cols", "4", "--preset", "tiny.toml"]
    command(tmp_path, "keygen", *layer, "--client", "mine", "--server", "theirs")
    command(tmp_path, "encrypt", "--client", "mine", "--out", "in")
    with server(tmp_path) as url:
        # In the folder that the server is run in, after it started: the planner must not be this.
        (tmp_path / "limbwise.py").write_text("raise SystemExit('a module of another')")
        files = ["--program", "theirs/program.json", "--keys", "theirs/evaluation.keys", "--out", "out"]
        client = [sys.executable, "-P", "-m", "limbwise.client", url, *files, "in/input-000.ct"]
        done = subprocess.run(client, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "result-000.ct").exists()


def test_ciphertexts_go_through_numpy(tmp_path: Path) -> None:
    """Out as FHETCH's archive, through NumPy, back, and through the program: the decrypted results are compared."""
    (tmp_path / "tiny.toml").write_text(TINY)
    layer = ["linear", "--op", "matvec", "--rows", "4", "--cols", "4", "--preset", "tiny.toml"]
    command(tmp_path, "keygen", *layer, "--client", "mine", "--server", "theirs")
    command(tmp_path, "encrypt", "--client", "mine", "--out", "in")
    like = "in/input-000.ct"
    command(tmp_path, "convert", like, "--params", "theirs", "--out", "x.npz")
    with np.load(tmp_path / "x.npz") as archive:
        arrays = dict(archive)
    n, moduli = 1 << 11, arrays["moduli"]
    assert set(arrays) == {"moduli", "scale"} | {f"ct_{c}_limb_{i}" for c in (0, 1) for i in range(len(moduli))}
    for i, q in enumerate(moduli):
        assert q % (2 * n) == 1
        for row in (arrays[f"ct_0_limb_{i}"], arrays[f"ct_1_limb_{i}"]):
            assert row.shape == (n,)
            assert row.max() < q
    np.savez_compressed(tmp_path / "y.npz", **arrays)
    (tmp_path / "in2").mkdir()
    command(tmp_path, "convert", "y.npz", "--params", "theirs", "--like", like, "--out", "in2/input-000.ct")
    command(tmp_path, "eval", "--server", "theirs", "--in", "in2", "--out", "results")
    command(tmp_path, "decrypt", "--client", "mine", "--in", "results", "--inputs", "in2", "--out", "y.npy")
    assert np.load(tmp_path / "y.npy").shape == (4, 1)
    command(tmp_path, "convert", "theirs/evaluation.keys", "--params", "theirs", "--out", "keys")
    halves = sorted((tmp_path / "keys").glob("galois*_d0_0.npz"))
    with np.load(halves[0]) as half:
        assert len(half["moduli"]) > len(moduli)
    # Over other primes it is refused.
    arrays["moduli"] = arrays["moduli"][::-1]
    np.savez(tmp_path / "z.npz", **arrays)
    start = [sys.executable, "-P", "-m", "limbwise", "convert", "z.npz", "--params", "theirs", "--like", like]
    done = subprocess.run([*start, "--out", "z.ct"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "moduli: got" in done.stderr
