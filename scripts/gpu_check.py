#!/usr/bin/env python3
"""All that a machine with a GPU has to say about the device `cuda`, in one run of at most ten minutes.

THIS SCRIPT HAS NEVER RUN ON A GPU: it was written where there was none.

  scripts/gpu_check.py                  builds here, then checks and measures here
  scripts/gpu_check.py --prepare DIR    builds here and puts what a machine without cargo's registry needs into DIR
  scripts/gpu_check.py --from DIR       checks and measures with what was prepared
  scripts/gpu_check.py --standin        the same steps at small sizes without a GPU, on a stand-in for the driver's library
                                        (crates/cuda/src/tests/driver.cpp): shows that this script works, nothing of speed

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
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 590

# Parameters of bootstrapping that a host computes with in seconds: those of the command line's tests.
SMALL_BOOTSTRAP = """log_n = 11
levels = [[50], [32], [32], [40], [40], [30, 29], [50], [50], [50], [50], [50], [50], [50], [50], [46], [46]]
special = [50, 50, 50, 50, 50]
dnum = 4
log_scale = 40

[insecure]
reason = "a test of scripts/gpu_check.py"

[bootstrapping]
slot-to-coeff = 2
coeff-to-slot = 2
message-ratio = 7
ephemeral-weight = 32
eval-mod = { range = 16, degree = 31, double-angles = 3, sine = { exponential = { harmonics = 2 } } }
"""


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


def stand_in(folder: str) -> None:
    """Puts a stand-in for the driver's library where this process's programs find it."""
    flags = ["-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC"]
    # A fused product is one instruction where the processor has it.
    if "fma" in Path("/proc/cpuinfo").read_text().split():
        flags.append("-mfma")
    source = ROOT / "crates/cuda/src/tests/driver.cpp"
    subprocess.run([os.environ.get("CXX", "c++"), *flags, "-o", f"{folder}/libcuda.so", source], check=True)
    os.environ["LD_LIBRARY_PATH"] = f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    os.environ.setdefault("LIMBWISE_STANDIN", "order=late")


def check(places: dict[str, Path], resnet: list[str] | None, small: Path | None) -> list[str]:
    """Every step; what failed. At small sizes with parameters of bootstrapping in a file."""
    steps = Steps()
    tests, measure, limbwise = (str(places[name]) for name in ("tests", "measure", "limbwise"))
    device = ["--device", "cuda"]
    sizes = ["small"] if small else []
    bootstrap = ["--preset", str(small)] if small else []
    pbs = ["--preset", "fhex-I", "--batch", "2"] if small else []
    steps.run("GPU", ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv"], 20)
    steps.run("tests on the GPU", [tests, "gpu"], 240, LIMBWISE_REQUIRE="cuda")
    steps.run("times beside floors", [measure, *sizes], 120)
    steps.run("bootstrapping", [limbwise, "run", "bootstrap", *bootstrap, *device], 180)
    steps.run("programmable bootstrapping", [limbwise, "run", "pbs", *pbs, *device], 90)
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
    steps.run("times without graphs", [measure, *sizes], 60, LIMBWISE_REPLAY="off")
    return steps.failed


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepare", metavar="DIR", type=Path, help="build, and put the programs here")
    parser.add_argument("--from", dest="prepared", metavar="DIR", type=Path, help="take the programs from here")
    parser.add_argument("--resnet20", nargs=2, metavar=("WEIGHTS", "DATA"), help="as limbwise run resnet20 takes them")
    parser.add_argument("--standin", action="store_true", help="without a GPU, at small sizes")
    options = parser.parse_args()
    if options.prepare:
        options.prepare.mkdir(parents=True, exist_ok=True)
        for name, place in build().items():
            shutil.copy2(place, options.prepare / name)
        return 0
    names = ("tests", "measure", "limbwise")
    places = {name: options.prepared.resolve() / name for name in names} if options.prepared else build()
    with tempfile.TemporaryDirectory() as folder:
        small = None
        if options.standin:
            stand_in(folder)
            small = Path(folder) / "boot.toml"
            small.write_text(SMALL_BOOTSTRAP)
        failed = check(places, options.resnet20, small)
    print("\n" + ("all passed" if not failed else "failed:\n  " + "\n  ".join(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
