"""Installs the rivals that this machine can have, under target/peers of the repository (README.md)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACE = HERE.parent.parent / "target" / "peers"
NUMPY = "numpy==2.2.6"
OPENFHE = ["openfhe==1.6.1.0.22.4", NUMPY]  # its extension is for CPython 3.10 only
TENSEAL = ["tenseal==0.3.16", NUMPY]


class Absent(Exception):
    """Why a rival is not there."""


def say(text):
    """A line for the person who looks on."""
    print(f"peers: {text}", file=sys.stderr, flush=True)


def quietly(*command, cwd=None, environment=None):
    """Runs an installing command; its last words are the reason if it fails."""
    words = [str(c) for c in command]
    done = subprocess.run(words, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        last = done.stderr.strip().splitlines() or ["no reason given"]
        raise Absent(f"{Path(words[0]).name}: {last[-1]}")


def python310():
    """A CPython 3.10 that runs: on the path, of pyenv, or of uv."""
    found = [shutil.which("python3.10"), *sorted(Path.home().glob(".pyenv/versions/3.10.*/bin/python"))]
    if uv := shutil.which("uv"):
        answer = subprocess.run([uv, "python", "find", "3.10"], capture_output=True, text=True)
        found.append(answer.stdout.strip())
    for candidate in filter(None, found):
        program = "import sys; sys.exit(sys.version_info[:2] != (3, 10))"
        if subprocess.run([str(candidate), "-c", program], capture_output=True).returncode == 0:
            return candidate
    raise Absent("its wheel needs CPython 3.10; none on the path, in ~/.pyenv or known to uv")


def processor_has(*flags):
    """Whether Linux names all of these instruction sets."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return False
    known = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), [])
    return set(flags) <= set(known)


def wheel(python, requirements, driver):
    """A virtual environment with wheels, for one driver."""
    place = PLACE / driver
    inside = place / "bin" / "python"
    installed = place / "installed.txt"
    if not installed.exists() or installed.read_text().split() != requirements:
        shutil.rmtree(place, ignore_errors=True)
        quietly(python, "-m", "venv", place)
        quietly(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements)
        installed.write_text("\n".join(requirements))
    return [inside, HERE / f"{driver}_driver.py"]


def poulpy():
    """The Rust driver, built by nightly Rust with the versions of Cargo.lock, for this processor's instructions."""
    cargo = shutil.which("cargo")
    if not cargo or subprocess.run([cargo, "+nightly", "--version"], capture_output=True).returncode:
        raise Absent("it needs nightly Rust (rustup toolchain install nightly)")
    if processor_has("avx512f", "avx512ifma", "avx512vl"):
        back_end = "ifma"
    elif processor_has("avx2", "fma"):
        back_end = "avx2"
    else:
        raise Absent("its back ends need AVX-512 with IFMA, or AVX2 with FMA, which this processor lacks")
    place = PLACE / "poulpy"
    environment = os.environ | {"RUSTFLAGS": "-C target-cpu=native", "CARGO_TARGET_DIR": str(place)}
    build = [cargo, "+nightly", "build", "--release", "--locked", "--features", back_end]
    quietly(*build, cwd=HERE / "poulpy", environment=environment)
    return [place / "release" / "limbwise-peer-poulpy"]


def lattigo():
    """The Go driver, built with the versions of go.sum."""
    go = shutil.which("go")
    if not go:
        raise Absent("no go on the path")
    quietly(go, "build", "-o", PLACE / "lattigo", ".", cwd=HERE / "lattigo")
    return [PLACE / "lattigo"]


def python_for_tenseal():
    """CPython 3.10 if there is one, or else this one: tenseal has wheels for several."""
    try:
        return python310()
    except Absent:
        return sys.executable
