#!/usr/bin/env python3
"""Branches and addresses that depend on secrets, by valgrind's memcheck over marked memory (ADR 186).

    scripts/secrets_under_valgrind.py [--isa NAME] [--profile NAME] [--log FILE]

Builds the example `secrets_under_valgrind` of the library, which marks seeds, keys and messages as undefined and does what
clients do at small rings: sampling, key generation, key files, encoding, encryption and decryption (CKKS, BGV, TFHE). memcheck
then reports every branch and every address that depends on marked memory. First a branch on a secret is tried, which has to be
found. The instruction set is `scalar` unless another is named; valgrind knows AVX2 and not AVX-512.

Ends with 1 if anything was found, 2 if valgrind is not there. Reports go to FILE (target/campaign/valgrind.log).
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = "secrets_under_valgrind"
# Status of valgrind itself would hide that of the program; every error counts, however many there are.
VALGRIND = ["valgrind", "--quiet", "--error-limit=no", "--error-exitcode=0", "--num-callers=16"]


def build(profile: str) -> Path:
    """The example with its marks, in the profile that people use unless another is named."""
    command = ["cargo", "build", "--profile", profile, "-p", "limbwise", "--example", EXAMPLE, "--features", "valgrind"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / ("debug" if profile == "dev" else profile) / "examples" / EXAMPLE


def main() -> int:
    """The status for the shell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isa", default="scalar")
    parser.add_argument("--profile", default="release")
    parser.add_argument("--log", type=Path, default=ROOT / "target" / "campaign" / "valgrind.log")
    given = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: secrets were not checked", file=sys.stderr)
        return 2
    program = build(given.profile)
    given.log.parent.mkdir(parents=True, exist_ok=True)
    log = f"--log-file={given.log}"
    leak = subprocess.run([*VALGRIND, log, program, "leak"], capture_output=True, check=False, text=True)
    if leak.returncode != 1:
        print(f"a branch on a secret was not found, so the rest would say nothing:\n{leak.stdout}{leak.stderr}", file=sys.stderr)
        return 1
    ended = subprocess.run([*VALGRIND, log, program, given.isa], check=False)
    if ended.returncode == 1:
        print(f"branches or addresses depend on secrets: {given.log} says where", file=sys.stderr)
    elif ended.returncode != 0:
        print(f"the operations failed with {ended.returncode}", file=sys.stderr)
    else:
        print("no branch and no address depends on a secret")
    return int(ended.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
