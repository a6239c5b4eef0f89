#!/usr/bin/env python3
"""Two machines that do not trust each other, as an outside program drives them: only verbs and files, standard library.

Two directories stand for the machines. What the client sends, its directory `sent`, is copied; so are the results. The
server's directory never sees the secret key.

    python3 examples/two_sides.py                                   a layer of 256×256 on a vector
    python3 examples/two_sides.py --limbwise target/release/limbwise -- logreg --iterations 4
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def run(limbwise: str, folder: Path, *arguments: str) -> dict:
    """One verb with its JSON report; its mistakes and progress go to standard error."""
    done = subprocess.run([limbwise, *arguments, "--json"], cwd=folder, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"limbwise {' '.join(arguments)}: exit code {done.returncode}")
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limbwise", default="limbwise", help="the program [default: limbwise on the PATH]")
    parser.add_argument("--folder", type=Path, help="where the two directories go [default: a temporary one]")
    parser.add_argument("workload", nargs="*", default=["linear"], help="workload and its options, after --")
    options = parser.parse_args()
    limbwise = str(Path(shutil.which(options.limbwise) or options.limbwise).resolve())
    workload = [str(Path(word).resolve()) if Path(word).is_file() else word for word in options.workload]
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        client, server = folder / "client", folder / "server"
        client.mkdir(parents=True, exist_ok=True)
        # The client makes all keys; `sent/keys` is what it uploads once.
        run(limbwise, client, "keygen", *workload, "--client", "mine", "--server", "sent/keys")
        run(limbwise, client, "encrypt", "--client", "mine", "--out", "sent/inputs")
        shutil.copytree(client / "sent", server)
        if list(server.rglob("secret*")):
            sys.exit("the server has a secret")
        # The server evaluates with public keys only.
        report = run(limbwise, server, "eval", "--server", "keys", "--in", "inputs", "--out", "results")
        shutil.copytree(server / "results", client / "results")
        # The client decrypts, and knows what should come out.
        found = run(limbwise, client, "decrypt", "--client", "mine", "--in", "results", "--out", "x.npy", "--compare")
        precision = found["compared"]["precision_bits"]["mean"]
        print(f"{report['workload']}: evaluated in {report['seconds']:.2f} s; {precision:.1f} bits of precision")


if __name__ == "__main__":
    main()
