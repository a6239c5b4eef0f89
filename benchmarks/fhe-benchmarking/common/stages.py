"""What the stages of every submission share: the program, the directories, the seconds of a server's steps.

A stage runs in the root of the harness's repository, where `datasets/<instance>` and `io/<instance>` are. It ends with an
error where its inputs are absent, or are those of another run: limbwise refuses files of other keys, inputs or programs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn


def refuse(text: str) -> NoReturn:
    """Ends the stage with an error."""
    sys.exit(f"{Path(sys.argv[0]).name}: {text}")


def limbwise(*words: str | Path) -> dict[str, Any]:
    """Runs the program LIMBWISE names, or `limbwise` on the path, and returns its report."""
    command = [os.environ.get("LIMBWISE", "limbwise"), *map(str, words), "--json"]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError:
        refuse(f"{command[0]}: no such program; install limbwise, or set LIMBWISE to its path")
    if done.returncode != 0:
        refuse(f"limbwise {words[0]} failed:\n{done.stderr.strip() or done.stdout.strip()}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def there(path: Path) -> Path:
    """Returns a path that must exist."""
    if not path.exists():
        refuse(f"{path} is missing: run the stage that writes it first")
    return path


def fresh(directory: Path) -> Path:
    """Returns a directory of a stage's own, empty: what an earlier run left there is removed."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.parent.mkdir(parents=True, exist_ok=True)
    return directory


def seconds(io: Path) -> list[str | Path]:
    """Returns the options by which a server's steps are timed for the harness: one flat object, name to seconds."""
    return ["--seconds", io / "server_reported_steps.json"]


def joined(io: Path, files: list[Path]) -> None:
    """Writes the seconds of several evaluations as one object, the name of each file before its steps."""
    steps = {f"{file.stem}: {name}": one for file in files for name, one in json.loads(file.read_text()).items()}
    (io / "server_reported_steps.json").write_text(json.dumps(steps, indent=2) + "\n")
