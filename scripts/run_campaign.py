#!/usr/bin/env python3
"""All campaigns of docs/reliability.md, one after another: `make campaign` and `make campaign-long`.

    scripts/run_campaign.py [--long] [--folder DIR] [--only STEP,…] [--built]

Builds what the steps need, then runs them in this order. A step that finds something, or that ends by a signal or too late,
does not keep the others from running. Each step's output goes to DIR/STEP.log (target/campaign), and a row to DIR/steps.jsonl:
the step, form, commit, status, seconds, and its last line. With --long, steps that ended well at this commit are not run
again, so that a campaign that was stopped goes on with the step under way; readers and faults have journals of their own
besides. Ends with 1 if any step found anything.

  readers   every reader of bytes from outside, on changed inputs              (limbwise-fuzz)
  sides     changed files through both sides; what is left in memory           (cargo test --test trust)
  faults    without memory, without room on a disk, killed at any moment       (scripts/campaign.py)
  secrets   branches and addresses that depend on secrets, under valgrind      (scripts/secrets_under_valgrind.py)
  noise     TFHE's noise beside its formulas                                  (cargo test --test tfhe)
  range     EvalMod's range beside its failure probability                   (cargo test --test ckks)
  soak      the HTTP server under load and kills                               (scripts/soak.py)
  tls       the same over TLS, with handshakes that break off                  (scripts/soak.py --tls; openssl)
  digests   one digest over instruction sets, threads, devices; --long alone   (cargo test --test cli)
  kills     real sizes killed; --long alone                                    (scripts/campaign.py)
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# Status of a step whose tool is not on the machine.
ABSENT = 2
# Share of a step's seconds after which it is ended: builds and other programs on the machine take time as well.
PATIENCE = 10


@dataclass
class Step:
    """A campaign: its command, what it is told by variables, and about how long it takes."""

    name: str
    command: list[str]
    seconds: float
    variables: dict[str, str] = field(default_factory=dict)
    may_be_absent: bool = False


def cargo_test(test: str, *words: str) -> list[str]:
    """A test binary as `make test` builds it."""
    return ["cargo", "test", "--workspace", "--test", test, "--", "--nocapture", *words]


def library_test(*words: str) -> list[str]:
    """Tests inside the crates as `make test` builds them."""
    return ["cargo", "test", "--workspace", "--lib", "--", "--nocapture", *words]


def script(name: str, *words: str) -> list[str]:
    """A script of this folder."""
    return [sys.executable, f"scripts/{name}", *words]


def steps(long: bool, folder: Path) -> list[Step]:
    """What is run, in order."""
    debug, release = str(TARGET / "debug" / "limbwise"), str(TARGET / "release" / "limbwise")
    fuzz = [str(TARGET / "debug" / "limbwise-fuzz"), "--folder", str(folder / "fuzz")]
    each = 60 if long else 4
    faults, rounds = (2400, 50) if long else (120, 5)
    soak = 600 if long else 30
    changed = "100000" if long else "10000"
    # Other programs may keep the machine busy: a request that is late is no defect.
    load = ["--seconds", str(soak), "--clients", "200" if long else "50", "--request-seconds", "60"]
    samples = {"LIMBWISE_SAMPLES": "10000", "LIMBWISE_LARGE": "1"} if long else {}
    at, log = ["--folder", str(folder)], ["--log", str(folder / "valgrind.log")]
    found = [
        Step("readers", [*fuzz, "--seconds", str(each)], 50 * each),
        Step("sides", cargo_test("trust"), 600 if long else 60, {"LIMBWISE_CAMPAIGN": changed}),
        Step("faults", script("campaign.py", *at, "--rounds", str(rounds), "--seconds", str(faults), debug), faults),
        Step("secrets", script("secrets_under_valgrind.py", *log), 60, may_be_absent=True),
        Step("noise", cargo_test("tfhe", "--include-ignored", "estimates"), 7200 if long else 60, samples),
        Step("tails", library_test(*(["--include-ignored"] if long else []), "tails"), 7200 if long else 10, samples),
        Step("range", cargo_test("ckks", "bootstrap_range"), 600 if long else 10, samples),
        Step("soak", script("soak.py", *load, debug), soak + 30),
        Step("tls", script("soak.py", "--tls", *load, debug), soak + 30, may_be_absent=True),
    ]
    if long:
        real = ["--only", "kill", "--rounds", "3", "--workloads", "helr,resnet20,tpch-q6-real"]
        found += [
            Step("digests", cargo_test("cli", "--include-ignored", "digest"), 1800),
            Step("kills", script("campaign.py", *at, *real, release), 7200),
        ]
    return found


def builds(long: bool) -> list[list[str]]:
    """What steps run that is no test."""
    found = [["cargo", "build", "--workspace", "--bin", "limbwise", "--bin", "limbwise-fuzz"]]
    return [*found, ["cargo", "build", "--release", "--workspace", "--bin", "limbwise"]] if long else found


def run(step: Step, folder: Path) -> tuple[int, float, str]:
    """Runs a step; its status, seconds and last line. One that hangs is ended, with all that it has started."""
    start = time.monotonic()
    log = folder / f"{step.name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            step.command, cwd=ROOT, env=os.environ | step.variables, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            status = process.wait(PATIENCE * step.seconds + 600)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return status, time.monotonic() - start, lines[-1].strip() if lines else ""


class Journal:
    """Rows of all campaigns; a row that was cut short is left out."""

    def __init__(self, path: Path):
        self.path = path
        self.rows = []
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                self.rows.append(json.loads(line))
            except json.JSONDecodeError:
                continue

    def add(self, row: dict) -> None:
        """Appends a row on a line of its own."""
        self.rows.append(row)
        old = self.path.read_bytes() if self.path.exists() else b""
        with self.path.open("a") as file:
            file.write(("" if old.endswith(b"\n") or not old else "\n") + json.dumps(row) + "\n")

    def is_done(self, step: Step, commit: str) -> bool:
        """Whether a step of the long form ended well at this commit."""
        wanted = {"step": step.name, "form": "long", "commit": commit, "status": 0}
        return any(wanted.items() <= row.items() for row in self.rows)


def campaign(given: argparse.Namespace) -> int:
    """Runs what is asked for; how many steps found something."""
    given.folder.mkdir(parents=True, exist_ok=True)
    folder = given.folder.resolve()
    journal = Journal(folder / "steps.jsonl")
    describe = ["git", "describe", "--always", "--dirty"]
    told = subprocess.run(describe, cwd=ROOT, capture_output=True, check=False, text=True)
    commit, form = told.stdout.strip() or "unknown", "long" if given.long else "short"
    for command in [] if given.built else builds(given.long):
        subprocess.run(command, cwd=ROOT, check=True)
    wrong, start = [], time.monotonic()
    for step in (step for step in steps(given.long, folder) if given.only is None or step.name in given.only):
        if given.long and journal.is_done(step, commit):
            print(f"{step.name}: done before at {commit}", flush=True)
            continue
        try:
            status, seconds, last = run(step, folder)
        except subprocess.TimeoutExpired:
            status, seconds, last = -1, PATIENCE * step.seconds + 600, "hung: ended"
        absent = step.may_be_absent and status == ABSENT
        verdict = "well" if status == 0 else "SKIPPED" if absent else f"FOUND SOMETHING (status {status})"
        print(f"{step.name}: {verdict}, {seconds:.0f} s: {last}", flush=True)
        row = {"step": step.name, "form": form, "commit": commit, "status": status}
        journal.add(row | {"seconds": round(seconds, 1), "last": last})
        wrong += [] if status == 0 or absent else [step.name]
    logs = ", ".join(str(folder / f"{name}.log") for name in wrong)
    print(f"campaign: {time.monotonic() - start:.0f} s; {f'look at {logs}' if wrong else 'nothing was found'}")
    return len(wrong)


def main() -> int:
    """The status for the shell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="hours in the place of ten minutes")
    parser.add_argument("--folder", type=Path, default=TARGET / "campaign")
    parser.add_argument("--only", type=lambda text: text.split(","), help="steps by their names")
    parser.add_argument("--built", action="store_true", help="take the programs that are there, without building them")
    given = parser.parse_args()
    return int(campaign(given) > 0)


if __name__ == "__main__":
    sys.exit(main())
