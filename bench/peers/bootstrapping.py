"""Bootstrapping of other libraries, and of Limbwise beside them in the same call (README.md)."""

import argparse
import json
import os
import signal
import subprocess
from pathlib import Path

from install import HERE, OPENFHE, PLACE, Absent, lattigo, poulpy, python310, say, wheel


def openfhe():
    """OpenFHE's driver of bootstrapping, in the environment of the other one."""
    return [wheel(python310(), OPENFHE, "openfhe")[0], HERE / "openfhe_bootstrap.py"]


# For each library: how its driver is had, and its sets. The first sets run when none is named; "also" only by name.
LIBRARIES = {
    "Lattigo": (lattigo, {"first": ["N16QP1767H32768H32"], "also": ["N15QP880H16384H32"]}),
    "OpenFHE": (openfhe, {"first": ["openfhe-59-s2c", "openfhe-59-c2s"], "also": ["openfhe-50-s2c", "openfhe-50-c2s"]}),
    "Poulpy": (
        poulpy,
        {
            "first": ["n16_d35_k685_p19_s2c_ffr_ci", "n16_d35_k636_p20_c2s"],
            "also": ["n16_d35_k733_p20_s2c", "n15_d35_k180_p18_c2s"],
        },
    ),
}
# OpenFHE and Poulpy read the number of their threads here, Lattigo in the question.
THREADS = ("OMP_NUM_THREADS", "RAYON_NUM_THREADS")


def wanted(names):
    """Pairs of library and set for names of either; all first sets for none."""
    known = {name for _, sets in LIBRARIES.values() for name in sets["first"] + sets["also"]} | LIBRARIES.keys()
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"peers: no library or set {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    for library, (_, sets) in LIBRARIES.items():
        for name in sets["first"] + sets["also"]:
            if name in names or (name in sets["first"] and (library in names or not names)):
                yield library, name


def measured(library, name, threads):
    """The row of a set, from a process of its own: its peak memory is that of nothing else."""
    command = [str(word) for word in LIBRARIES[library][0]()]
    question = json.dumps({"op": "bootstrap", "parameters": name, "threads": threads}) + "\n"
    environment = os.environ | dict.fromkeys(THREADS, str(threads))
    done = subprocess.run(command, input=question, stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode < 0:
        stopped = signal.Signals(-done.returncode).name
        raise Absent(f"{name}: its driver was stopped by {stopped}; SIGKILL is often too little memory (README.md)")
    try:
        row = json.loads(done.stdout)
    except ValueError:
        raise Absent(f"{name}: its driver gave no row, exit status {done.returncode}") from None
    if "absent" in row:
        raise Absent(f"{name}: {row['absent']}")
    return row | {"set": name, "threads": threads, "t_as_us": amortized(row["seconds"], row["slots"], row["levels"])}


def amortized(seconds, slots, levels):
    """Microseconds of bootstrapping a slot and level won, without the multiplications at those levels; none if it wins
    no level."""
    return 1e6 * seconds / slots / levels if levels > 0 else None


def limbwise(program, threads):
    """Limbwise's row: the least of two runs, by the same count as the others."""
    command = [program, "run", "bootstrap", "--json", "--threads", str(threads)]
    runs = []
    for _ in range(2):
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise Absent(f"{program} stopped with exit status {done.returncode}")
        runs.append(json.loads(done.stdout))
    runs.sort(key=lambda run: run["bootstrap_seconds"])
    run = runs[0]
    seconds, slots, levels = run["bootstrap_seconds"], run["slots"], run["levels_won"]
    return {
        "name": "bootstrap",
        "library": "Limbwise",
        "set": run["preset"],
        "seconds": seconds,
        "median_seconds": runs[len(runs) // 2]["bootstrap_seconds"],
        "levels": levels,
        "slots": slots,
        "keygen_seconds": next(step["seconds"] for step in run["steps"] if step["name"] == "keys"),
        "key_bytes": run["key_bytes"],
        "peak_bytes": run["peak_memory_bytes"]["measured"],
        "mean_bits": run["precision_bits"]["mean"],
        "min_bits": run["precision_bits"]["min"],
        "parameters": ", ".join(f"{key} {value}" for key, value in run["bootstrap_plan"].items()),
        "security": f"{run['security_bits']} bits by {run['security_standard']}",
        "threads": threads,
        "t_as_us": amortized(seconds, slots, levels),
    }


def ratio(row, ours):
    """What a rival takes of Limbwise's seconds, in all and a slot and level."""
    both = {"seconds": row["seconds"] / ours["seconds"]}
    if row["t_as_us"] and ours["t_as_us"]:
        both["t_as_us"] = row["t_as_us"] / ours["t_as_us"]
    return {key: round(value, 2) for key, value in both.items()}


def main(arguments):
    """Prints a row a set, then the ratios to Limbwise if it is asked for. The status is 1 if no row was had."""
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__)
    help_of_names = "a library or one of its sets; without any, the first sets of all"
    parser.add_argument("--bootstrap", nargs="*", metavar="NAME", required=True, help=help_of_names)
    parser.add_argument("--threads", type=int, choices=(1, 2), default=1)
    parser.add_argument("--limbwise", type=Path, metavar="PROGRAM", help="measure this program of Limbwise as well")
    options = parser.parse_args(arguments)
    PLACE.mkdir(parents=True, exist_ok=True)
    rows = []
    for library, name in wanted(options.bootstrap):
        try:
            rows.append(measured(library, name, options.threads))
        except (Absent, OSError) as reason:
            say(f"{library} is absent: {reason}")
            continue
        print(json.dumps(rows[-1]), flush=True)
    if options.limbwise:
        try:
            ours = limbwise(str(options.limbwise.resolve()), options.threads)
        except (Absent, OSError, ValueError, KeyError, StopIteration) as reason:
            say(f"Limbwise is absent: {reason}")
            return 1
        print(json.dumps(ours), flush=True)
        ratios = {f"{row['library']} {row['set']}": ratio(row, ours) for row in rows}
        print(json.dumps({"name": "ratio", "threads": options.threads, "to": "Limbwise", "of": ratios}), flush=True)
    return 0 if rows else 1
