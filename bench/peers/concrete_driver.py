"""Concrete ML's forest on the breast cancer data of scikit-learn: trains, compiles, answers encrypted rows.

A question on standard input, a row of JSON on standard output. The folder of the argument gets `forest.onnx`, the same
forest with thresholds as trained, and `forest_rows.csv`, the rows that it has not learned with their labels.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from concrete.ml.sklearn import RandomForestClassifier as Encrypted
from skl2onnx import to_onnx
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split


def main():
    """Answers one question."""
    question, place = json.loads(sys.stdin.read()), Path(sys.argv[1])
    x, y = load_breast_cancer(return_X_y=True)
    learned, x, labels, y = train_test_split(x, y, test_size=0.25, random_state=0)
    forest = RandomForestClassifier(question["trees"], max_depth=question["depth"], random_state=0)
    forest.fit(learned, labels)
    options = {id(forest): {"zipmap": False}}
    (place / "forest.onnx").write_bytes(to_onnx(forest, x[:1].astype(np.float32), options=options).SerializeToString())
    np.savetxt(place / "forest_rows.csv", np.column_stack([x, y]), delimiter=",")
    encrypted = Encrypted.from_sklearn_model(forest, learned, n_bits=question["bits"])
    took = {}

    def timed(name, work):
        start = time.perf_counter()
        result = work()
        took[name] = round(time.perf_counter() - start, 3)
        return result

    circuit = timed("compile_seconds", lambda: encrypted.compile(learned))
    timed("keygen_seconds", lambda: circuit.client.keygen(force=True))
    rows = x[: question["rows"]]
    got = timed("seconds", lambda: encrypted.predict(rows, fhe="execute"))
    row = {
        "library": "Concrete ML",
        "version": version("concrete-ml"),
        "rows": len(rows),
        "wrong": int((got != encrypted.predict(rows)).sum()),
        "same_as_trained": float((got == forest.predict(rows)).mean()),
        "key_bytes": circuit.size_of_bootstrap_keys + circuit.size_of_keyswitch_keys,
        "p_error": circuit.p_error,
        **took,
    }
    print(json.dumps(row))


main()
