#!/usr/bin/env python3
"""Measures what a second worker brings: parts of a batch on one Ray node of one processor, then on two, in one run.

    python scripts/cluster_speedup.py make DIR [--rows 64] [--parts 2]     keys and encrypted parts, once
    python scripts/cluster_speedup.py run DIR                              both clusters, and the ratio

`make` takes Query 6 of TPC-H (a part is so many rows) and programmable bootstrapping (a part is so many messages). `run`
prints seconds from the moment when all workers have their keys to the last result, the ratio of both, and the largest that
the ratio could be: parts over parts on the busiest worker. Results are decrypted nowhere: the tests compare bits.

Needs the package with the extra `ray`; both nodes are on this computer, on loopback.
"""

import argparse
import csv
import json
import sys
import time
from pathlib import Path
from typing import Any

import limbwise as lw

ROOT = Path(__file__).resolve().parent.parent
LINES = ROOT / "crates/apps/data/lineitem_1024.csv"
PROGRAMS = ("tpch-q6", "pbs")


def rows_of(place: Path, first: int, count: int) -> Path:
    """Some of the shipped rows as a file."""
    with LINES.open() as file:
        head, *lines = list(csv.reader(file))
    with place.open("w", newline="") as file:
        csv.writer(file).writerows([head, *lines[first : first + count]])
    return place


def make(place: Path, rows: int, parts: int) -> None:
    for name in PROGRAMS:
        here = place / name
        here.mkdir(parents=True)
        tables = [rows_of(here / f"rows-{part}.csv", part * rows, rows) for part in range(parts)]
        options: dict[str, Any] = {"data": tables[0]} if name == "tpch-q6" else {"batch": rows}
        client, _ = lw.workload(name, **options).keygen(here / "mine", here / "theirs")
        for part, table in enumerate(tables):
            more = {"data": table} if name == "tpch-q6" else {}
            client.encrypt(here / "in" / f"part-{part:05}", **more)


def measured(here: Path, nodes: int) -> tuple[float, float, list[float]]:
    """Seconds of all parts, those with the workers' starts, and those of each part."""
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    for _ in range(nodes):
        cluster.add_node(num_cpus=1, include_dashboard=False)
    ready: list[float] = []
    each: list[float] = []

    def tell(what: dict[str, Any]) -> None:
        if "has its keys" in str(what.get("note", "")):
            ready.append(time.monotonic())
        if "done" in what:
            each.append(round(what["done"]["seconds"], 2))

    parts = sorted((here / "in").iterdir())
    out = here / f"out-{nodes}-{time.monotonic_ns()}"
    began = time.monotonic()
    try:
        done = lw.cluster.run(here / "mine", here / "theirs", parts, out=out, address=cluster.address, tell=tell)
        ended = time.monotonic()
    finally:
        ray.shutdown()
        cluster.shutdown()
    if None in done.parts or len(ready) != nodes or done.lost:
        sys.exit(f"the run did not go as planned: {done}")
    # A worker that is ready first has begun by the time the last one is; parts are at least as many as workers.
    return ended - ready[0], ended - began, each


def run(place: Path, programs: list[str]) -> None:
    for name in programs:
        here = place / name
        parts = len(list((here / "in").iterdir()))
        one, all_one, each_one = measured(here, 1)
        two, all_two, each_two = measured(here, 2)
        best = parts / -(-parts // 2)
        found = {
            "program": name,
            "parts": parts,
            "seconds_one": round(one, 2),
            "seconds_two": round(two, 2),
            "speed_up": round(one / two, 3),
            "of_at_most": best,
            "seconds_with_starts": [round(all_one, 2), round(all_two, 2)],
            "seconds_of_parts": [each_one, each_two],
        }
        print(json.dumps(found), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["make", "run"])
    parser.add_argument("place", type=Path)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--parts", type=int, default=2)
    parser.add_argument("--program", action="append", choices=PROGRAMS)
    asked = parser.parse_args()
    if asked.what == "make":
        make(asked.place, asked.rows, asked.parts)
    else:
        run(asked.place, asked.program or list(PROGRAMS))


if __name__ == "__main__":
    main()
