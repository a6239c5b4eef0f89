#!/usr/bin/env python3
"""Faults: the verbs without memory, without room on a disk, and killed at any moment.

    scripts/campaign.py [--folder DIR] [--rounds N] [--seconds S] [--seed N] [--only KIND,…] [--workloads NAME,…] PROGRAM

PROGRAM is the binary `limbwise`. For each workload of the list below (small rings, made with --seed, so that the right bytes
are known) a round ends each verb once in each way:

  memory   RLIMIT_AS at a random size between nothing and what the verb takes
  file     RLIMIT_FSIZE at a random length: a write fails with EFBIG where SIGXFSZ is ignored
  full     a small tmpfs as the place of what is written, filled up to a random rest (skipped where it cannot be mounted)
  kill     SIGKILL after a random share of the verb's time; an evaluation goes on from its checkpoint

Judged: the verb ends with 0 and the right bytes, or with an error text and another status. It never panics, dies by a signal
of its own, or leaves a file under a final name that is not whole. After each fault the verb is repeated without one and gives
the right bytes. Rows go to DIR/faults.jsonl (target/campaign), from which the next run goes on; ends with 1 if anything was
found.
"""

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "crates" / "fuzz" / "corpus"
TINY = CORPUS / "params-toml" / "tiny.toml"
TINY_BOOT = CORPUS / "params-toml" / "tiny-boot.toml"
TINY_TFHE = CORPUS / "tfhe-params-toml" / "tiny.toml"
TINY_TFHE_4 = CORPUS / "tfhe-params-toml" / "tiny-4.toml"
SEED = ["--seed", "7", "--insecure-seed"]
MOST_SECONDS = 600
KINDS = ("kill", "memory", "file", "full")

# Workloads, with options that make them small, and those that a plan would choose by measured times.
WORKLOADS = {
    "linear": ["--preset", TINY, "--rows", "16", "--strategy", "hoisted", "--keys", "stored", "--plaintexts", "full"],
    "logreg": ["--preset", TINY, "--iterations", "1", "--degree", "3", "--keys", "stored"],
    "bootstrap": ["--preset", TINY_BOOT, "--strategy", "bsgs", "--plaintexts", "full", "--keys", "seeded", "--halves", "once"],
    "lola": ["--strategy", "bsgs", "--plaintexts", "full", "--keys", "stored"],
    "pbs": ["--preset", TINY_TFHE, "--batch", "64"],
    "gates": ["--preset", TINY_TFHE, "--batch", "8"],
    "nn20": ["--preset", TINY_TFHE_4, "--images", "1"],
    "bgv-mul": [],
    "bgv-table": ["--keys", "stored"],
    "tpch-q6": ["--preset", f"{CORPUS / 'params-toml' / 'tiny-bridge.toml'},{TINY_TFHE_4}", "--rows", "16", "--keys", "stored"],
}
# These run at full size, by name only: `--workloads helr,resnet20,tpch-q6-real`.
LARGE = {"helr": ["--iterations", "1"], "resnet20": [], "tpch-q6-real": ["--rows", "64"]}


@dataclass
class Verb:
    """One command of a workload, with the files that it writes."""

    name: str
    words: list[str]
    writes: list[str]
    seconds: float = 0.0
    bytes: int = 0
    right: dict[str, bytes] = field(default_factory=dict)


def verbs(workload: str) -> list[Verb]:
    """The steps of both sides; those that draw randomness draw it from a seed."""
    options = [str(word) for word in (WORKLOADS | LARGE)[workload]]
    sides = ["--client", "mine", "--server", "theirs"]
    # The ledger of decryptions shared or not is the client's own record and not a result.
    return [
        Verb("keygen", ["keygen", workload.removesuffix("-real"), *options, *sides, *SEED], ["mine", "theirs"]),
        Verb("encrypt", ["encrypt", "--client", "mine", "--out", "in", *SEED], ["in"]),
        Verb("eval", ["eval", "--server", "theirs", "--in", "in", "--out", "out", "--checkpoint", "state"], ["out", "state"]),
        Verb("decrypt", ["decrypt", "--client", "mine", "--in", "out", "--out", "y.json"], ["y*"]),
    ]


def contents(folder: Path, names: list[str]) -> dict[str, bytes]:
    """Files below names of a folder; checkpoints are no result."""
    found = {}
    for path in (path for name in names for path in folder.glob(name)):
        name = path.name
        files = [path] if path.is_file() else sorted(path.rglob("*")) if path.is_dir() and name != "state" else []
        found |= {str(file.relative_to(folder)): file.read_bytes() for file in files if file.is_file()}
    return found


def clear(folder: Path, names: list[str]) -> None:
    """Removes what a verb writes."""
    for path in (path for name in names for path in list(folder.glob(name))):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


@dataclass
class Ended:
    """How a process ended."""

    status: int
    text: str
    seconds: float
    peak: int


def run(program: Path, folder: Path, words: list[str], limits=None, kill_after: float | None = None) -> Ended:
    """Runs a verb, under limits or killed after some time."""
    start = time.monotonic()
    environment = os.environ | {"RUST_BACKTRACE": "0"}
    # Errors go through a pipe: a file would be under the limit on files as well.
    process = subprocess.Popen(
        [program, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limits, env=environment
    )
    # One that hangs is killed too, which is judged as a signal. Not `process.kill`: it would take the status.
    killer = threading.Timer(MOST_SECONDS if kill_after is None else kill_after, os.kill, (process.pid, signal.SIGKILL))
    killer.start()
    text = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    killer.cancel()
    killer.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    return Ended(process.returncode, text, time.monotonic() - start, usage.ru_maxrss * 1024)


def limited(kind: int, most: int):
    """Sets a limit in the child. A write beyond a file's limit is to fail, not to end the process."""

    def set_limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(kind, (most, most))

    return set_limit


def least_space(program: Path, folder: Path) -> int:
    """The least address space in which the program starts: below it, the system ends it before its first line."""
    low, high = 1 << 20, 1 << 32
    while high - low > 1 << 20:
        middle = (low + high) // 2
        started = run(program, folder, ["--version"], limited(resource.RLIMIT_AS, middle)).status == 0
        low, high = (low, middle) if started else (middle, high)
    return high


class Tmpfs:
    """A small file system in memory, or none where it cannot be mounted."""

    def __init__(self, folder: Path, size: int):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, check=False)
        self.there = mounted.returncode == 0

    def fill(self, rest: int) -> None:
        """Leaves so many bytes."""
        (self.folder / "filler").unlink(missing_ok=True)
        stat = os.statvfs(self.folder)
        size = max(stat.f_bavail * stat.f_frsize - rest, 0)
        with contextlib.suppress(OSError), open(self.folder / "filler", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)

    def close(self) -> None:
        """Unmounts it."""
        if self.there:
            subprocess.run(["umount", "-l", self.folder], check=False)


class Setting:
    """A workload's folder, with the right bytes of every verb."""

    def __init__(self, program: Path, folder: Path, workload: str):
        self.program, self.folder, self.workload = program, folder, workload
        self.verbs = verbs(workload)
        self.least = least_space(program, folder)
        for verb in self.verbs:
            clear(folder, verb.writes)
            ended = run(program, folder, verb.words)
            if ended.status != 0:
                raise SystemExit(f"{workload}: {verb.name} fails without a fault: {ended.text}")
            verb.seconds, verb.bytes, verb.right = ended.seconds, ended.peak, contents(folder, verb.writes)

    def judge(self, verb: Verb, ended: Ended, killed: bool) -> str | None:
        """What is wrong after a fault; none if nothing is."""
        # Rust ends a process whose collections get no memory, with this text.
        out_of_memory = ended.status == -signal.SIGABRT and "memory allocation of" in ended.text
        if ended.status < 0 and not killed and not out_of_memory:
            return f"died by signal {-ended.status}: {ended.text[-300:]}"
        if "panicked" in ended.text:
            return f"panicked: {ended.text[-300:]}"
        if ended.status > 0 and not ended.text.strip():
            return f"ended with {ended.status} without a text"
        found = contents(self.folder, verb.writes)
        for name, data in found.items():
            temporary = name.endswith(".tmp") or "/." in name or ".partial" in name
            if not temporary and name in verb.right and data != verb.right[name]:
                return f"{name} is not whole: {len(data)} bytes of {len(verb.right[name])} (status {ended.status})"
        if ended.status == 0 and found != verb.right:
            missing = set(verb.right) - set(found)
            return f"says it is done, and is not: {sorted(missing) or 'files more than there should be'}"
        return None

    def repair(self, verb: Verb) -> str | None:
        """The verb again without a fault; an evaluation goes on from its checkpoint."""
        clear(self.folder, [name for name in verb.writes if name != "state"])
        ended = run(self.program, self.folder, verb.words)
        clear(self.folder, [name for name in verb.writes if name == "state"])
        if ended.status != 0:
            return f"repeated without a fault it fails: {ended.text[-300:]}"
        if contents(self.folder, verb.writes) != verb.right:
            return "repeated without a fault it gives other bytes"
        return None


def fault(setting: Setting, verb: Verb, kind: str, dice: random.Random, disk: Tmpfs | None) -> tuple[str, Ended] | None:
    """One fault; what was done, and how the verb ended. None where the kind cannot be had."""
    clear(setting.folder, verb.writes)
    if kind == "kill":
        after = dice.random() * verb.seconds
        return f"after {after:.4f} s", run(setting.program, setting.folder, verb.words, kill_after=after)
    if kind == "memory":
        # Address space is more than memory: threads' stacks and arenas are reserved.
        most = int(dice.uniform(setting.least, 2 * verb.bytes + 4 * setting.least))
        return f"{most} bytes", run(setting.program, setting.folder, verb.words, limited(resource.RLIMIT_AS, most))
    longest = max((len(data) for data in verb.right.values()), default=1)
    if kind == "file":
        most = dice.randrange(longest) if dice.random() < 0.7 else dice.randrange(min(longest, 512))
        return f"{most} bytes", run(setting.program, setting.folder, verb.words, limited(resource.RLIMIT_FSIZE, most))
    if disk is None or not disk.there:
        return None
    total = sum(len(data) for data in verb.right.values())
    rest = dice.randrange(max(total, 1)) // 4096 * 4096
    disk.fill(rest)
    ended = run(setting.program, setting.folder, verb.words)
    (disk.folder / "filler").unlink(missing_ok=True)
    return f"{rest} bytes left", ended


class Journal:
    """Rows of all runs; numbers of rounds go on."""

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        if lines and not lines[-1].endswith("\n"):
            lines.pop()
            path.write_text("".join(lines))
        self.rows = [json.loads(line) for line in lines]

    def next_round(self, workload: str) -> int:
        """The first round that a workload has not had."""
        return max((row["round"] + 1 for row in self.rows if row["workload"] == workload), default=0)

    def add(self, row: dict) -> None:
        """Appends a row."""
        self.rows.append(row)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def campaign(given: argparse.Namespace, workload: str, journal: Journal, seconds: float) -> int:
    """Rounds of a workload for so many seconds, its setting not counted; how many faults found something."""
    wrong = 0
    place = Path(tempfile.mkdtemp(prefix=f"limbwise-faults-{workload}-"))
    disk = Tmpfs(place / "disk", given.disk) if "full" in given.only else None
    folder = disk.folder if disk and disk.there else place
    try:
        setting = Setting(given.program.resolve(), folder, workload)
        first, until = journal.next_round(workload), time.monotonic() + seconds
        for number in range(first, first + given.rounds):
            for verb in setting.verbs:
                for kind in given.only:
                    if time.monotonic() > until:
                        return wrong
                    dice = random.Random(f"{given.seed} {workload} {number} {verb.name} {kind}")
                    done = fault(setting, verb, kind, dice, disk)
                    if done is None:
                        continue
                    what, ended = done
                    found = setting.judge(verb, ended, kind == "kill") or setting.repair(verb)
                    wrong += found is not None
                    row = {"workload": workload, "round": number, "verb": verb.name, "kind": kind, "what": what}
                    journal.add(row | {"status": ended.status, "found": found})
                    if found:
                        print(f"{workload} {verb.name} {kind} {what} (round {number}): {found}", flush=True)
                        setting.repair(verb)
    finally:
        if disk:
            disk.close()
        shutil.rmtree(place, ignore_errors=True)
    return wrong


def summary(journal: Journal) -> None:
    """One line a kind of fault."""
    for kind in KINDS:
        rows = [row for row in journal.rows if row["kind"] == kind]
        if rows:
            ends = {
                "unharmed": sum(row["status"] == 0 for row in rows),
                "an error": sum(row["status"] > 0 for row in rows),
                "killed": sum(row["status"] < 0 for row in rows),
                "found": sum(row["found"] is not None for row in rows),
            }
            print(f"{kind}: {len(rows)} faults: " + ", ".join(f"{count} {name}" for name, count in ends.items()))


def main() -> int:
    """The status for the shell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--folder", type=Path, default=ROOT / "target" / "campaign")
    parser.add_argument("--rounds", type=int, default=1, help="of every workload (%(default)s)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of all workloads together; begin no fault after them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--disk", type=int, default=256 << 20, help="bytes of the tmpfs (%(default)s)")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(KINDS), help="kinds of faults")
    parser.add_argument("--workloads", type=lambda text: text.split(","), default=list(WORKLOADS))
    given = parser.parse_args()
    journal = Journal(given.folder / "faults.jsonl")
    before, wrong = len(journal.rows), 0
    for workload in given.workloads:
        wrong += campaign(given, workload, journal, given.seconds / len(given.workloads))
    summary(journal)
    print(f"{len(journal.rows) - before} faults in this campaign, {len(journal.rows)} in all")
    if len(journal.rows) == before:
        print("no fault was tried: give it more --seconds", file=sys.stderr)
        return 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
