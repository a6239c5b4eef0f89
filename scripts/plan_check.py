#!/usr/bin/env python3
"""Runs workloads and sets what was measured beside what their plans had predicted.

  scripts/plan_check.py PROGRAM                    small sizes, with one thread and with all: some minutes
  scripts/plan_check.py PROGRAM --size full        also the sizes that people use: three quarters of an hour
  scripts/plan_check.py PROGRAM --only lola,pbs    some of them
  scripts/plan_check.py PROGRAM --ways             every configuration of `bootstrap` and `linear` instead, and how much the
                                                   chosen one is slower than the best

PROGRAM is the binary limbwise, built for release. ResNet-20 runs where --resnet names the folder of its weights and images
(resnet20_cifar10.safetensors, cifar10_test_first100.bin).

A program takes as long as it takes on the machine at hand, so no time makes this fail. It ends with 1 if a run fails, and
prints how many measured values lie in their intervals (asked: nine of ten), within 15 % (seconds), within 5 % or 20 MB
(memory) and within 1.5 bits (precision).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

SMALL = {
    "bgv-mul": "bgv-mul",
    "bgv-table": "bgv-table",
    "ntt": "ntt",
    "pbs": "pbs",
    "pbs of 64": "pbs --batch 64",
    "gates": "gates",
    "lola": "lola",
    "linear": "linear",
    "convolution": "linear --op conv",
    "logreg, 2 iterations": "logreg --iterations 2",
    "logreg": "logreg",
    "tpch-q6, 64 rows": "tpch-q6 --rows 64",
}
FULL = {
    "bootstrap": "bootstrap",
    "bootstrap in 3 GB": "bootstrap --memory 3GB",
    "helr, 6 iterations": "helr --iterations 6",
    "helr": "helr",
    "nn20": "nn20",
    "tpch-q6": "tpch-q6",
    "sort, 16 numbers": "sort --count 16",
}
# Strategies of the maps, with what belongs to them: as `plan` compares them.
WAYS = {
    "bootstrap": [("double-hoisted", ""), ("bsgs", ""), ("multi-hop", " --halves once"), ("multi-hop", " --halves turns")],
    "linear": [(strategy, "") for strategy in ("direct", "hoisted", "bsgs", "double-hoisted", "multi-hop")],
}
RESNET = "resnet20 --weights {0}/resnet20_cifar10.safetensors --data {0}/cifar10_test_first100.bin"
# Smaller differences of memory are the allocator's.
MEMORY_FLOOR = 20e6


@dataclass
class Row:
    """One workload at one number of threads: medians over its runs, and every run's verdicts."""

    name: str
    threads: int
    reports: list[dict]

    @property
    def seconds(self) -> tuple[float, float]:
        """Predicted and measured."""
        return tuple(median(r[key] for r in self.reports) for key in ("seconds_predicted", "seconds"))

    @property
    def memory(self) -> tuple[int, int]:
        """Predicted and measured, in bytes; NaN where the system does not tell."""
        peaks = [r["peak_memory_bytes"] for r in self.reports]
        return tuple(median(p.get(key, float("nan")) for p in peaks) for key in ("predicted", "measured"))

    @property
    def precision(self) -> tuple[float, float] | None:
        """Predicted and measured mean bits of the first result; None for exact schemes."""
        bits = [r["precision_bits"] for r in self.reports if "predicted" in r.get("precision_bits", {})]
        return tuple(median(b[key] for b in bits) for key in ("predicted", "mean")) if bits else None

    def verdicts(self) -> Iterator[tuple[str, bool]]:
        """What is asked of every run, and whether it holds."""
        for report in self.reports:
            predicted, measured = report["seconds_predicted"], report["seconds"]
            low, high = report["seconds_interval"]
            yield "seconds lie in their interval", low <= measured <= high
            yield "seconds within 15 %", abs(measured - predicted) <= 0.15 * predicted
            memory = report["peak_memory_bytes"]
            if "measured" in memory:
                room = max(0.05 * memory["predicted"], MEMORY_FLOOR)
                yield "memory within 5 % or 20 MB", abs(memory["measured"] - memory["predicted"]) <= room
            bits = report.get("precision_bits", {})
            if "predicted" in bits:
                yield "precision within 1.5 bits", abs(bits["mean"] - bits["predicted"]) <= 1.5

    def text(self) -> str:
        """A line of the table."""
        predicted, measured = self.seconds
        low, high = (median(r["seconds_interval"][side] for r in self.reports) for side in (0, 1))
        inside = sum(holds for asked, holds in self.verdicts() if "interval" in asked)
        line = f"{self.name:<22}{self.threads:>3}  {in_words(predicted):>9} {in_words(measured):>9} {measured / predicted:>6.2f}"
        line += f"  {in_words(low):>8} to {in_words(high):<8} {inside}/{len(self.reports)}"
        planned, used = self.memory
        line += f"  {planned / 1e6:>8.0f} {used / 1e6:>8.0f}"
        if self.precision:
            line += "  {:>6.1f} {:>6.1f}".format(*self.precision)
        return line


def in_words(seconds: float) -> str:
    """A time with three digits."""
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def ran(program: Path, words: str, threads: int) -> dict:
    """The report of one run in a process of its own, so that its peak of memory is its own."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [program, "run", *words.split(), "--threads", str(threads), "--out", out.name]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"limbwise run {words} --threads {threads}: {done.stderr.strip().splitlines()[-1:]}")
        return json.loads(Path(out.name).read_text())


def machine() -> str:
    """The processor's name, its cores, and how busy it was before the first run."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.split(":")[1].strip() for line in text.splitlines() if line.startswith("model name")]
    load = os.getloadavg()[0]
    return f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} cores, load {load:.1f}"


def ways(words: str) -> Iterator[str]:
    """Options of every configuration of a program that plans compare."""
    for strategy, halves in WAYS[words]:
        for plaintexts in ("full", "on-the-fly"):
            for keys in ("stored", "seeded"):
                yield f"--strategy {strategy}{halves} --plaintexts {plaintexts} --keys {keys}"


def compare(program: Path, words: str, threads: int, runs: int) -> None:
    """Prints every configuration with its predicted and measured seconds, and what the chosen one loses to the best."""
    measured: dict[str, float] = {}
    for way in ways(words):
        reports = [ran(program, f"{words} {way}", threads) for _ in range(runs)]
        measured[way] = median(r["seconds"] for r in reports)
        predicted = median(r["seconds_predicted"] for r in reports)
        print(f"  {words} {way:<66}{in_words(predicted):>9} {in_words(measured[way]):>9}", flush=True)
    chosen = median(ran(program, words, threads)["seconds"] for _ in range(runs))
    best = min(measured, key=measured.__getitem__)
    lost = chosen / measured[best] - 1
    print(f"  {words}, chosen: {in_words(chosen)}, {lost:+.0%} beside the best ({best}); asked: at most +10%")

def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, metavar="PROGRAM")
    parser.add_argument("--size", choices=["small", "full"], default="small")
    parser.add_argument("--only", type=lambda text: text.split(","), metavar="NAMES", help="parts of names, by commas")
    parser.add_argument("--runs", type=int, default=3, metavar="COUNT", help="of each, one after the other [3]")
    parser.add_argument("--threads", type=lambda text: [int(t) for t in text.split(",")], metavar="COUNTS")
    parser.add_argument("--ways", action="store_true")
    parser.add_argument("--resnet", type=Path, metavar="FOLDER")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="every report")
    asked = parser.parse_args()
    if not asked.program.is_file():
        parser.error(f"{asked.program}: no such program; build it with cargo build --release -p limbwise-cli")
    wanted = SMALL | (FULL if asked.size == "full" else {})
    if asked.resnet:
        wanted["resnet20"] = RESNET.format(asked.resnet)
    if asked.only:
        wanted = {name: words for name, words in (SMALL | FULL | wanted).items() if any(o in name for o in asked.only)}
    threads = asked.threads or sorted({1, os.cpu_count() or 1})

    print(machine())
    if asked.ways:
        for words in WAYS:
            compare(asked.program, words, threads[-1], asked.runs)
        return 0
    print(f"{'':<22}{'':>3}  {'seconds':>9} {'':>9} {'':>6}  {'interval':>20} {'':<3}  {'memory, MB':>17}  {'bits':>13}")
    both = f"{'predicted':>9} {'measured':>9}"
    print(f"{'':<22}{'on':>3}  {both} {'ratio':>6}  {'':>20} {'in':<3}  {'pred.':>8} {'meas.':>8}  {'pred.':>6} {'meas.':>6}")
    rows, failed = [], 0
    for name, words in wanted.items():
        for count in threads:
            try:
                rows.append(Row(name, count, [ran(asked.program, words, count) for _ in range(asked.runs)]))
            except RuntimeError as wrong:
                print(wrong, file=sys.stderr)
                failed += 1
                continue
            print(rows[-1].text(), flush=True)
    kinds: dict[str, list[bool]] = {}
    for row in rows:
        for kind, holds in row.verdicts():
            kinds.setdefault(kind, []).append(holds)
    for kind, all_of in kinds.items():
        print(f"{kind}: {sum(all_of)} of {len(all_of)}")
    if asked.out:
        asked.out.write_text(json.dumps({"machine": machine(), "rows": [vars(row) for row in rows]}, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
