#!/usr/bin/env python3
"""Plays the harness of fhe-benchmarking offline: inputs, stages in order as processes, times, sizes, checked results.

    python3 benchmarks/fhe-benchmarking/harness.py zn 1                          1000 products
    python3 benchmarks/fhe-benchmarking/harness.py cifar10 0 --runs 3            one image, three times
    python3 benchmarks/fhe-benchmarking/harness.py similarity 0 --count-only     the toy size, matches counted

The published harness skips a stage that is missing, and measures whatever lies in a directory. This one ends with an error
for a missing stage, for a stage that leaves nothing where the contract says, and for a directory with files of another run.
Only the standard library is used. The program is that of LIMBWISE, or `limbwise` on the path.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from workloads import WORKLOADS, Failure, Run, Stage, Workload

HERE = Path(__file__).resolve().parent


def size_of(path: Path) -> int:
    """Bytes of a file or of a directory with all that is in it, as `du -sb` counts them."""
    return path.lstat().st_size + sum(one.lstat().st_size for one in path.rglob("*"))


def readable(count: float) -> str:
    for unit in "BKMG":
        if count < 1024:
            return f"{count:.1f}{unit}"
        count /= 1024
    return f"{count:.1f}T"


@dataclass
class Measured:
    """Seconds by step, bytes by what they are of, in the order they were measured."""

    seconds: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def table(self) -> str:
        rows = [(label, f"{seconds:.3f} s") for label, seconds in self.seconds.items()]
        rows += [("total", f"{sum(self.seconds.values()):.3f} s")]
        rows += [(label, readable(size)) for label, size in self.sizes.items()]
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"  {label:<{width}}  {value:>12}" for label, value in rows)


def find(directory: Path, stage: Stage) -> list[str]:
    """Returns the command of a stage: a Python file, or an executable in one of the contract's places."""
    script = directory / f"{stage.name}.py"
    if script.is_file():
        return [sys.executable, str(script)]
    for place in ("build", "target/release"):
        program = directory / place / stage.name
        if program.is_file() and os.access(program, os.X_OK):
            return [str(program)]
    places = f"{script}, {directory}/build/{stage.name} or {directory}/target/release/{stage.name}"
    raise Failure(f"the stage {stage.name} is missing: wanted {places} (the published harness skips it in silence)")


def fresh_output(path: Path, began: float, stage: Stage) -> None:
    """Fails unless a stage's output is there and all of it is newer than the start of this run."""
    if not path.exists():
        raise Failure(f"{stage.name} ended well and left no {path}")
    files = [one for one in ([path] if path.is_file() else path.rglob("*")) if one.is_file()]
    if not files:
        raise Failure(f"{stage.name} left {path} empty")
    old = [one for one in files if one.stat().st_mtime < began - 1e-2]
    if old:
        raise Failure(f"{old[0]} is a file of another run: {stage.name} did not write it, and it would be counted")


def execute(stage: Stage, run: Run, measured: Measured, began: float) -> None:
    command = [*find(run.submission, stage), *stage.arguments(run)]
    clock = time.perf_counter()
    done = subprocess.run(
        command, cwd=run.root, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    seconds = time.perf_counter() - clock
    if done.returncode != 0:
        raise Failure(f"{stage.name} ended with {done.returncode}:\n{done.stdout.strip()}")
    for output in stage.writes:
        fresh_output(run.io / output, began, stage)
    measured.seconds[stage.label] = measured.seconds.get(stage.label, 0.0) + seconds
    if stage.counted:
        measured.sizes[stage.counted] = size_of(run.io / stage.writes[0])
    print(f"[harness] {stage.label}: {seconds:.3f} s", flush=True)


def clean(run: Run, replace: bool) -> None:
    """Fails if another run's files are there, unless they are to be removed."""
    for place in (run.io, run.data):
        if place.exists() and any(place.iterdir()):
            if not replace:
                raise Failure(f"{place} has files of another run: remove them, or give --clean")
            shutil.rmtree(place)
        place.mkdir(parents=True, exist_ok=True)


def play(workload: Workload, run: Run, runs: int) -> list[Path]:
    """Runs everything and returns the files of results, one a run."""
    workload.build(run)
    every = [*workload.before, *workload.each]
    for stage in every:
        find(run.submission, stage)
    once, began = Measured(), time.time()
    workload.make_data(run)
    for stage in workload.before:
        execute(stage, run, once, began)
    written = []
    for number in range(1, runs + 1):
        measured, began = Measured(dict(once.seconds), dict(once.sizes)), time.time()
        workload.make_input(run, number)
        for stage in workload.each:
            execute(stage, run, measured, began)
        quality = workload.check(run)
        result = workload.result(run, measured.seconds, measured.sizes, quality, readable)
        path = run.root / "measurements" / run.instance / f"results-{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=2) + "\n")
        written.append(path)
        print(f"{workload.name} {run.instance}, run {number} of {runs}: {quality['text']}\n{measured.table()}")
    return written


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=sorted(WORKLOADS))
    parser.add_argument("size", type=int, help="0, 1, 2, 3 as the workload's harness has them")
    parser.add_argument("--runs", type=int, default=1, help="how often the steps after the keys are repeated")
    parser.add_argument("--seed", type=int, default=1, help="of the inputs")
    parser.add_argument(
        "--count-only", action="store_true", help="similarity: the number of matches, not their payloads"
    )
    parser.add_argument("--images", type=Path, help="ml-inference: CIFAR-10 batch or MNIST images, with --labels")
    parser.add_argument("--labels", type=Path, help="mnist: labels of the images (IDX)")
    parser.add_argument(
        "--root", type=Path, help="where datasets, io and measurements go [default: target/fhe-benchmarking]"
    )
    parser.add_argument("--submission", type=Path, help="another directory of stages than this repository's")
    parser.add_argument("--clean", action="store_true", help="remove what another run left")
    given = parser.parse_args()
    workload = WORKLOADS[given.workload]
    root = given.root or HERE.parents[1] / "target" / "fhe-benchmarking" / given.workload
    try:
        if given.size not in range(len(workload.sizes)):
            raise Failure(f"size {given.size}: {given.workload} has 0 to {len(workload.sizes) - 1}")
        if given.runs < 1:
            raise Failure(f"--runs {given.runs}: give 1 or more")
        root.mkdir(parents=True, exist_ok=True)
        submission = (given.submission or HERE / workload.directory).resolve()
        run = Run(root.resolve(), submission, given.size, workload.sizes[given.size], given)
        clean(run, given.clean)
        for path in play(workload, run, given.runs):
            print(path)
    except Failure as failure:
        print(f"harness: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
