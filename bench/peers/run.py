#!/usr/bin/env python3
"""Installs the rivals that this machine can have, starts their drivers, passes questions and answers on (README.md).

Python 3.11 or later, standard library only. Everything is installed under target/peers of the repository. What cannot
be had is named on standard error with its reason, and its rows are absent.
"""

import json
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


def quietly(*command, cwd=None):
    """Runs an installing command; its last words are the reason if it fails."""
    words = [str(c) for c in command]
    done = subprocess.run(words, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
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


RIVALS = {
    "Lattigo": lattigo,
    "OpenFHE": lambda: wheel(python310(), OPENFHE, "openfhe"),
    "SEAL": lambda: wheel(python_for_tenseal(), TENSEAL, "seal"),
}


def start():
    """The drivers that run, by name."""
    PLACE.mkdir(parents=True, exist_ok=True)
    running = {}
    for name, prepare in RIVALS.items():
        try:
            command = [str(c) for c in prepare()]
            running[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except (Absent, OSError) as reason:
            say(f"{name} is absent: {reason}")
    return running


def ask(running, question, told):
    """The rows of all that have the operation; each reason for none is told once. A driver that has died, or says
    something else, is left out from then on."""
    for name, driver in list(running.items()):
        try:
            driver.stdin.write(question)
            driver.stdin.flush()
            row = json.loads(driver.stdout.readline())
        except (OSError, ValueError):
            say(f"{name} is absent from here on: its driver stopped with exit status {driver.wait()}")
            del running[name]
            continue
        if "absent" not in row:
            yield row
        elif (reason := f"no row of {name} for some operations: {row['absent']}") not in told:
            told.add(reason)
            say(reason)


def bootstrap(parameters):
    """Prints Lattigo's row of bootstrapping, from a process of its own: its peak memory is that of nothing else."""
    PLACE.mkdir(parents=True, exist_ok=True)
    question = json.dumps({"op": "bootstrap", "parameters": parameters}) + "\n"
    try:
        done = subprocess.run([str(c) for c in lattigo()], input=question, stdout=subprocess.PIPE, text=True)
    except (Absent, OSError) as reason:
        sys.exit(f"peers: Lattigo is absent: {reason}")
    if done.returncode:
        sys.exit(f"peers: Lattigo's driver stopped with exit status {done.returncode}; it needs 18 GB for N = 2^16")
    print(done.stdout, end="")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--bootstrap"]:
        bootstrap(*sys.argv[2:3] or ["N16QP1767H32768H32"])
        sys.exit()
    drivers, told = start(), set()
    for line in sys.stdin:
        for row in ask(drivers, line, told):
            print(json.dumps(row), flush=True)
        print(flush=True)
