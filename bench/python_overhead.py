"""What Python adds to an operation: the product of two ciphertexts (multiply, relinearize, rescale), and what encoding costs.

Both sides alternate in one process on the same ciphertexts, so they meet the same noise; the least and the median of each
are printed as one JSON object. Run it with the package installed: python bench/python_overhead.py [repetitions]
"""

import json
import statistics
import subprocess
import sys
import time

import limbwise as lw
import numpy as np


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    ctx = lw.ckks("n16-l24-s40")
    values = np.random.default_rng(0).uniform(-1, 1, ctx.slots)
    start = time.perf_counter_ns()
    x, y = ctx.encrypt(values), ctx.encrypt(values[::-1].copy())
    encrypted = (time.perf_counter_ns() - start) / 2
    (x * y).settle()  # the key
    rust, python = [], []
    for _ in range(repetitions):
        rust += ctx._session.time_product(x._held, y._held, 1)
        start = time.perf_counter_ns()
        (x * y).settle()
        python.append(time.perf_counter_ns() - start)
    start = time.perf_counter_ns()
    np.ascontiguousarray(values[::-1])
    copied = time.perf_counter_ns() - start
    imports = []
    code = "import time; s = time.perf_counter(); import numpy; n = time.perf_counter(); import limbwise; e = time.perf_counter(); print(n - s, e - n)"
    for _ in range(10):
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        imports.append([float(t) for t in said.split()])
    print(
        json.dumps(
            {
                "n": 1 << 16,
                "rust_ms": {"least": min(rust) / 1e6, "median": statistics.median(rust) / 1e6},
                "python_ms": {"least": min(python) / 1e6, "median": statistics.median(python) / 1e6},
                "added_percent": {
                    "least": 100 * (min(python) / min(rust) - 1),
                    "median": 100 * (statistics.median(python) / statistics.median(rust) - 1),
                },
                "encrypt_ms": encrypted / 1e6,
                "copy_of_the_array_ms": copied / 1e6,
                "import_ms": {
                    "numpy": 1e3 * statistics.median(i[0] for i in imports),
                    "limbwise": 1e3 * statistics.median(i[1] for i in imports),
                },
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
