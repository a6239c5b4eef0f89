#!/usr/bin/env python3
"""Installs the rivals that this machine can have, starts their drivers, passes questions and answers on (README.md).

Python 3.11 or later, standard library only. Everything is installed under target/peers of the repository. What cannot
be had is named on standard error with its reason, and its rows are absent. `--bootstrap` measures bootstrapping instead,
`--forest` a forest of decision trees.
"""

import json
import subprocess
import sys

import bootstrapping
import forest
from install import OPENFHE, PLACE, TENSEAL, Absent, lattigo, python310, python_for_tenseal, say, wheel

RIVALS = {
    "Lattigo": lattigo,
    "OpenFHE": lambda: wheel(python310(), OPENFHE, "openfhe"),
    "SEAL": lambda: wheel(python_for_tenseal(), TENSEAL, "seal"),
}


def start():
    """The drivers that run, by name."""
    PLACE.mkdir(parents=True, exist_ok=True)
    running = {}
    for name, prepare in RIVALS.items():
        try:
            command = [str(c) for c in prepare()]
            running[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except (Absent, OSError) as reason:
            say(f"{name} is absent: {reason}")
    return running


def ask(running, question, told):
    """The rows of all that have the operation; each reason for none is told once. A driver that has died, or says
    something else, is left out from then on."""
    for name, driver in list(running.items()):
        try:
            driver.stdin.write(question)
            driver.stdin.flush()
            row = json.loads(driver.stdout.readline())
        except (OSError, ValueError):
            say(f"{name} is absent from here on: its driver stopped with exit status {driver.wait()}")
            del running[name]
            continue
        if "absent" not in row:
            yield row
        elif (reason := f"no row of {name} for some operations: {row['absent']}") not in told:
            told.add(reason)
            say(reason)


if __name__ == "__main__":
    if "--bootstrap" in sys.argv:
        sys.exit(bootstrapping.main(sys.argv[1:]))
    if "--forest" in sys.argv:
        sys.exit(forest.main(sys.argv[1:]))
    drivers, told = start(), set()
    for line in sys.stdin:
        for row in ask(drivers, line, told):
            print(json.dumps(row), flush=True)
        print(flush=True)
