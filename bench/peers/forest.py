"""A random forest on encrypted rows: Concrete ML, and Limbwise beside it in the same call (README.md)."""

import argparse
import json
import subprocess

from install import HERE, PLACE, Absent, say, wheel

# It pins versions of its own of scikit-learn, skl2onnx and torch; python3 must be CPython 3.8 to 3.12.
CONCRETE = ["concrete-ml==1.9.0"]


def concrete(options):
    """The row of Concrete ML; it writes the trained forest and the rows for Limbwise."""
    driver = wheel("python3", CONCRETE, "concrete")[0]
    question = {"trees": options.trees, "depth": options.depth, "bits": options.bits, "rows": options.rows}
    command = [driver, HERE / "concrete_driver.py", PLACE]
    done = subprocess.run(command, input=json.dumps(question), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise Absent(f"its driver ended with exit status {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def limbwise(options):
    """The row of Limbwise: the same forest, its thresholds as they are."""
    data = ["--model", PLACE / "forest.onnx", "--data", PLACE / "forest_rows.csv", "--label", "last"]
    command = [options.limbwise, "run", "forest", *data, "--rows", str(options.rows), "--json"]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise Absent(f"{options.limbwise}: exit status {done.returncode}")
    report = json.loads(done.stdout)
    kept = ["seconds", "seconds_predicted", "wrong", "preset", "key_bytes", "accuracy", "threads"]
    return {"library": "Limbwise", **{name: report.get(name) for name in kept}, "rows": options.rows}


def main(words):
    """Prints a row for each library, and the ratio of seconds in a last line."""
    parser = argparse.ArgumentParser(prog="run.py --forest", description=__doc__)
    parser.add_argument("--forest", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--limbwise", metavar="PROGRAM", help="the command to run beside it")
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--bits", type=int, default=5, help="bits of features and leaves in Concrete ML [5]")
    parser.add_argument("--rows", type=int, default=1, help="rows in one call [1]")
    options = parser.parse_args(words)
    PLACE.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, measure in {"Concrete ML": concrete, "Limbwise": limbwise if options.limbwise else None}.items():
        try:
            if measure:
                rows.append(measure(options))
                print(json.dumps(rows[-1]), flush=True)
        except (Absent, OSError) as reason:
            say(f"{name} is absent: {reason}")
    if len(rows) == 2:
        ratio = round(rows[0]["seconds"] / rows[1]["seconds"], 2)
        print(json.dumps({"seconds of Concrete ML over those of Limbwise": ratio}))
    return 0 if rows else 1
