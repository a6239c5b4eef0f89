"""What the stages share: sizes, directories, and the call of `limbwise`.

A stage is called as `python3 <stage>.py SIZE` in the harness's root; SIZE is 0 to 3. Standard library only.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

# Names of the sizes in directories, and images of each.
SIZES = [("single", 1), ("small", 100), ("medium", 1000), ("large", 10000)]


def stop(text: str) -> None:
    sys.exit(f"{Path(sys.argv[0]).name}: {text}")


class Run:
    """The directories of one size."""

    def __init__(self) -> None:
        if len(sys.argv) != 2 or sys.argv[1] not in ("0", "1", "2", "3"):
            stop(f"got {sys.argv[1:]}; wanted one size: 0 (1 image), 1 (100), 2 (1000) or 3 (10000)")
        self.name, self.images = SIZES[int(sys.argv[1])]
        self.io = Path("io") / self.name
        self.pixels = Path("datasets") / self.name / "intermediate" / "test_pixels.txt"
        self.public, self.secret = self.io / "public_keys", self.io / "secret_key"
        self.upload, self.download = self.io / "ciphertexts_upload", self.io / "ciphertexts_download"
        self.scores = self.io / "scores.csv"
        self.predictions = self.io / "encrypted_model_predictions.txt"

    def emptied(self, directory: Path) -> Path:
        """A directory without files of an earlier run."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        return directory


def existing(path: Path, before: str) -> Path:
    if not path.exists():
        stop(f"{path} is missing; run {before} first, in the harness's root directory")
    return path


def limbwise(*words: object) -> dict[str, object]:
    """Runs the program and returns its report; its errors are the stage's."""
    program = os.environ.get("LIMBWISE") or shutil.which("limbwise")
    if not program:
        stop("limbwise is not on PATH; build it (cargo build --release) or name it in LIMBWISE")
    done = subprocess.run([str(program), *map(str, words), "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        stop(done.stderr.strip() or f"limbwise ended with {done.returncode}")
    report: dict[str, object] = json.loads(done.stdout)
    return report
