#!/usr/bin/env python3
"""Trains the forest that ships with the workload `forest`, and writes it as ONNX.

Needs scikit-learn and skl2onnx. The first rows of crates/apps/data/breast_cancer_wisconsin.csv are learned, the others
are judged. `--trees`, `--depth` and `--train` say how large it is, and on how many rows.
"""

import argparse
import csv
from pathlib import Path

TABLE = Path(__file__).parents[1] / "crates/apps/data/breast_cancer_wisconsin.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--train", type=int, default=400)
    parser.add_argument("--out", type=Path, default=TABLE.with_name("forest_breast_cancer.onnx"))
    args = parser.parse_args()

    import numpy as np
    from skl2onnx import to_onnx
    from sklearn.ensemble import RandomForestClassifier

    with TABLE.open(newline="") as file:
        rows = np.array(list(csv.reader(file))[1:], dtype=np.float64)
    x, y = rows[:, :-1].astype(np.float32), rows[:, -1].astype(np.int64)
    forest = RandomForestClassifier(n_estimators=args.trees, max_depth=args.depth, random_state=1)
    forest.fit(x[: args.train], y[: args.train])
    model = to_onnx(forest, x[:1], options={"zipmap": False}, target_opset={"": 17, "ai.onnx.ml": 3})
    args.out.write_bytes(model.SerializeToString())
    right = (forest.predict(x[args.train :]) == y[args.train :]).mean()
    leaves = sum(int((tree.tree_.children_left < 0).sum()) for tree in forest.estimators_)
    print(f"{args.out}: {leaves} leaves; {right:.4f} of {len(x) - args.train} other rows are right")


if __name__ == "__main__":
    main()
