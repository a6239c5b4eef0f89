#!/usr/bin/env python3
"""Lets Schemathesis send to a running `limbwise serve` what its OpenAPI description allows and what it does not.

    scripts/fuzz_api.py [--examples N] [--seed N] PROGRAM        PROGRAM: the binary limbwise

Every 5xx and every answer that is not as described is a defect, and makes this end with 1. Schemathesis is installed
from PyPI into a virtual environment in the target folder, once. The server gets a directory of its own under /tmp, a
token, and small limits, so that the limits are met as well.
"""

import argparse
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from common import client_module

ROOT = Path(__file__).resolve().parent.parent
Server = client_module().Server

SCHEMATHESIS = "schemathesis==4.32.5"
SECONDS_TO_START = 60

# What a description cannot say are the server's limits: a file that is larger, or one too many, is refused whatever its
# schema; and a chunk's digest has to be that of its bytes.
SETTINGS = """
[checks.positive_data_acceptance]
expected-statuses = [200, 201, 202, 204, 206, 404, 409, 413, 422, 429]
[checks.negative_data_rejection]
expected-statuses = [400, 404, 405, 409, 413, 415, 422, 429]
"""


def tool() -> Path:
    """The program `schemathesis`, installed if it is not there yet."""
    place = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / SCHEMATHESIS.replace("==", "-")
    program = place / "bin" / "schemathesis"
    if not program.exists():
        shutil.rmtree(place, ignore_errors=True)
        venv.create(place, with_pip=True)
        subprocess.run([place / "bin" / "pip", "install", "-q", SCHEMATHESIS], check=True)
    return program


def start(program: Path, folder: Path, token: str) -> tuple[subprocess.Popen, str]:
    """A server, and where it is."""
    token_file = folder / "token"
    token_file.touch(mode=0o600)
    token_file.write_text(token)
    log = folder / "log"
    limits = ["--upload", "100kB", "--total", "1MB", "--jobs", "2"]
    arguments = ["serve", folder / "state", "--bind", "127.0.0.1:0", "--token-file", token_file, *limits]
    server = subprocess.Popen([program, *arguments], stderr=log.open("w"), stdout=subprocess.DEVNULL)
    for _ in range(SECONDS_TO_START * 10):
        if found := re.search(r"listening on (http://\S+)", log.read_text()):
            return server, found.group(1)
        if server.poll() is not None:
            break
        time.sleep(0.1)
    server.kill()
    raise SystemExit(f"the server did not start:\n{log.read_text()}")


def known(address: str, token: str, folder: Path) -> str:
    """Puts files, an upload and a job on the server; settings with their names, which no fuzzer would guess."""
    server = Server(address, token=token)
    files = [folder / name for name in ("program.json", "other.json")]
    for number, path in enumerate(files):
        path.write_text(f'{{"number": {number}}}')
    program, keys = [server.upload(path) for path in files]
    job = server.ask("POST", "/v1/jobs", {"program": program, "keys": keys, "inputs": [keys]})["id"]
    upload = server.ask("POST", "/v1/uploads", {"bytes": 1000, "sha256": "0" * 64})["id"]
    places = {"files/{id}": program, "files/{id}/content": program, "jobs/{id}": job, "jobs/{id}/cancel": job}
    places |= {"uploads/{id}": upload, "uploads/{id}/chunk": upload}
    return "".join(
        f'[[operations]]\ninclude-path = "/v1/{path}"\nparameters = {{ "path.id" = "{name}" }}\n' for path, name in places.items()
    )


def main() -> int:
    """The status for the shell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--examples", type=int, default=20, help="cases an operation (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="repeats a run (%(default)s)")
    given = parser.parse_args()
    schemathesis = tool()
    with tempfile.TemporaryDirectory(prefix="limbwise-fuzz-") as name:
        folder = Path(name)
        token = secrets.token_hex(32)
        server, address = start(given.program.resolve(), folder, token)
        try:
            options = ["--seed", given.seed, "--header", f"Authorization: Bearer {token}", "--checks", "all"]
            # Its own database of failures would end up in the working tree.
            options += ["--max-examples", given.examples, "--generation-database", "none"]
            status = 0
            # Names as the fuzzer makes them; then those that are there, without removing them first.
            for more in [], ["--exclude-method", "DELETE"]:
                settings = SETTINGS + (known(address, token, folder) if more else "")
                (folder / "schemathesis.toml").write_text(settings)
                command = [schemathesis, "--config-file", folder / "schemathesis.toml", "run", f"{address}/openapi.json"]
                run = [str(part) for part in [*command, *options, *more]]
                status |= subprocess.run(run, cwd=folder, check=False).returncode
            alive = server.poll() is None
        finally:
            server.send_signal(signal.SIGTERM)
            ended = server.wait(30)
        log = (folder / "log").read_text()
        if not alive or ended != 0 or "panicked" in log:
            print(f"the server did not outlive it (status {ended}):\n{log[-4000:]}", file=sys.stderr)
            return 1
        return int(status != 0)


if __name__ == "__main__":
    sys.exit(main())
