#!/usr/bin/env python3
"""All that a machine with a GPU has to say about the device `cuda`, in one run of at most ten minutes.

THIS SCRIPT HAS NEVER RUN ON A GPU: it was written where there was none.

  scripts/gpu_check.py                  builds here, then checks and measures here
  scripts/gpu_check.py --prepare DIR    builds here and puts what a machine without cargo's registry needs into DIR
  scripts/gpu_check.py --from DIR       checks and measures with what was prepared

Steps: the device's tests on the GPU (conformance, random programs in lockstep with the CPU); programs whose results decrypt
right (bootstrapping, programmable bootstrapping, ResNet-20 if its weights are given); compute-sanitizer on small tests; times
beside their floors, at last without graphs. A step that fails does not stop the others; the exit status says whether all passed. Goals are printed,
never enforced.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 590


def build() -> dict[str, Path]:
    """Builds the three programs; their places by name."""
    places = {}
    wanted = [
        ("tests", ["test", "--release", "-p", "limbwise-cuda", "--lib", "--no-run"], "limbwise_cuda"),
        ("measure", ["build", "--release", "-p", "limbwise-cuda", "--example", "measure"], "measure"),
        ("limbwise", ["build", "--release", "-p", "limbwise-cli", "--bin", "limbwise"], "limbwise"),
    ]
    for name, command, target in wanted:
        told = subprocess.run(
            ["cargo", *command, "--message-format=json"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        messages = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
        made = [m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == target]
        if not made:
            sys.exit(f"cargo {' '.join(command)} made no program {target}")
        places[name] = Path(made[-1])
    return places


class Steps:
    """Runs steps within one limit and remembers what failed."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.failed: list[str] = []

    def run(self, what: str, command: list[str], most_s: float, **environment: str) -> None:
        """One step: its output as it comes, its time, its end."""
        left = LIMIT_S - (time.monotonic() - self.begun)
        if left < 5:
            self.failed.append(f"{what}: no time left")
            return
        print(f"\n== {what}: {' '.join(command)}", flush=True)
        begun = time.monotonic()
        try:
            code = subprocess.run(command, env=os.environ | environment, timeout=min(most_s, left)).returncode
        except subprocess.TimeoutExpired:
            code = "time limit"
        except OSError as error:
            code = str(error)
        print(f"== {what}: {time.monotonic() - begun:.1f} s, {'passed' if code == 0 else f'FAILED ({code})'}", flush=True)
        if code != 0:
            self.failed.append(f"{what}: {code}")


def check(places: dict[str, Path], resnet: list[str] | None) -> list[str]:
    """Every step; what failed."""
    steps = Steps()
    tests, measure, limbwise = (str(places[name]) for name in ("tests", "measure", "limbwise"))
    device = ["--device", "cuda"]
    steps.run("GPU", ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv"], 20)
    steps.run("tests on the GPU", [tests, "gpu"], 240, LIMBWISE_REQUIRE="cuda")
    steps.run("times beside floors", [measure], 120)
    steps.run("bootstrapping", [limbwise, "run", "bootstrap", *device], 180)
    steps.run("programmable bootstrapping", [limbwise, "run", "pbs", *device], 90)
    if resnet:
        weights, data = resnet
        steps.run("ResNet-20", [limbwise, "run", "resnet20", "--weights", weights, "--data", data, *device], 120)
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if Path(sanitizer).exists():
        for tool in ("memcheck", "racecheck"):
            watched = [sanitizer, "--tool", tool, "--error-exitcode", "9", tests, "--exact", "tests::gpu_small_programs"]
            steps.run(f"compute-sanitizer, {tool}", watched, 90, LIMBWISE_REQUIRE="cuda")
    else:
        steps.failed.append("compute-sanitizer: not on this machine")
    steps.run("times without graphs", [measure], 60, LIMBWISE_REPLAY="off")
    return steps.failed


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepare", metavar="DIR", type=Path, help="build, and put the programs here")
    parser.add_argument("--from", dest="prepared", metavar="DIR", type=Path, help="take the programs from here")
    parser.add_argument("--resnet20", nargs=2, metavar=("WEIGHTS", "DATA"), help="as limbwise run resnet20 takes them")
    options = parser.parse_args()
    if options.prepare:
        options.prepare.mkdir(parents=True, exist_ok=True)
        for name, place in build().items():
            shutil.copy2(place, options.prepare / name)
        return 0
    names = ("tests", "measure", "limbwise")
    places = {name: options.prepared.resolve() / name for name in names} if options.prepared else build()
    failed = check(places, options.resnet20)
    print("\n" + ("all passed" if not failed else "failed:\n  " + "\n  ".join(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
