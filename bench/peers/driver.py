"""What the Python drivers share: timing, and questions and answers by line (README.md)."""

import json
import sys
import time


def several(run):
    """Seconds of several runs, ascending, after one that warms up."""
    run()
    times, begin = [], time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - begin < 0.5 and len(times) < 2000):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return sorted(times)


def serve(library, version, measure):
    """Answers questions until the input ends. `measure` gives times and parameters in words; what it raises, or the
    library in it, is the reason why there is no row."""
    for line in sys.stdin:
        question = json.loads(line)
        row = {"library": library, "version": version}
        try:
            times, words = measure(question)
            row |= {"name": question["op"], "seconds": times[0], "median_seconds": times[len(times) // 2]}
            row["parameters"] = words
        except Exception as reason:
            row["absent"] = str(reason)
        print(json.dumps(row), flush=True)


def words(question, log_p, dnum):
    """The parameters of a scheme operation, as ours are written."""
    chain = question["chain_bits"]
    return f"{len(chain)} limbs, log Q {sum(chain)}, log P {log_p}, dnum {dnum}"
