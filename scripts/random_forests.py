#!/usr/bin/env python3
"""Trains random forests, and compares encrypted answers with those of the package that trained them.

    python3 scripts/random_forests.py                          50 forests, from seed 0
    python3 scripts/random_forests.py --forests 500 --seed 1000

Needs the packages limbwise, onnx, scikit-learn and xgboost. A seed is a table, and a model of two or three classes or of
numbers: a tree, a random forest, extra trees, gradient boosting with and without histograms, XGBoost. Half of the tables lack
values, where the model takes that. Rows run on a small ring. Labels must be equal but for ties and where the report says that
quantization changed one; numbers must lie as near as it says. Ends with 1 if an answer differs.
"""

import argparse
import random
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import limbwise as lw
import numpy as np
import xgboost
from common import small_sets
from sklearn import ensemble, tree

MODELS = {
    "tree": (tree.DecisionTreeClassifier, tree.DecisionTreeRegressor, {}),
    "forest": (ensemble.RandomForestClassifier, ensemble.RandomForestRegressor, {"n_estimators": 5}),
    "extra trees": (ensemble.ExtraTreesClassifier, ensemble.ExtraTreesRegressor, {"n_estimators": 5}),
    "boosting": (ensemble.GradientBoostingClassifier, ensemble.GradientBoostingRegressor, {"n_estimators": 4}),
    "histograms": (ensemble.HistGradientBoostingClassifier, ensemble.HistGradientBoostingRegressor, {"max_iter": 4}),
    "xgboost": (xgboost.XGBClassifier, xgboost.XGBRegressor, {"n_estimators": 4}),
}
ROWS = 6


class Trained:
    """A table, a model that learned it, and rows to ask."""

    def __init__(self, seed):
        r, g = random.Random(seed), np.random.default_rng(seed)
        self.kind, self.classes = r.choice(list(MODELS)), r.choice([0, 2, 3])
        count, width = r.choice([60, 200]), r.choice([1, 3, 8])
        x = g.normal(size=(count, width)) * np.exp(3 * g.normal(size=width))
        x = np.round(x) if r.random() < 0.3 else x
        hidden = np.nan_to_num(x / (np.abs(x).max(axis=0) + 1e-9)) @ g.normal(size=width) + 0.1 * g.normal(size=count)
        ranks = np.argsort(np.argsort(hidden))
        y = ranks * self.classes // count if self.classes else np.exp(hidden)
        self.lacks = self.kind != "boosting" and r.random() < 0.5
        if self.lacks:
            x[g.random(x.shape) < r.choice([0.1, 0.5])] = np.nan
            x[0] = np.nan
        classifier, regressor, more = MODELS[self.kind]
        if not self.classes and self.kind in ("histograms", "xgboost") and r.random() < 0.3:
            more = {**more, **({"loss": "poisson"} if self.kind == "histograms" else {"objective": "count:poisson"})}
        names = {0: y, 1: np.array([f"k{label}" for label in y])}
        labels = names[self.classes > 0 and self.kind != "xgboost" and r.random() < 0.3]
        self.model = (classifier if self.classes else regressor)(max_depth=r.randint(1, 4), random_state=seed, **more)
        self.model.fit(x, labels)
        self.rows = x[g.choice(count, ROWS, replace=False)]
        # Places where values lie on thresholds, as integers do, and rows that the model has not seen.
        self.rows[: ROWS // 2] *= g.choice([1.0, 1.5], size=(ROWS // 2, width))


def judged(seed, preset):
    """What became of a forest: a word, and what is wrong with it."""
    trained = Trained(seed)
    try:
        forest = lw.trees.compile(trained.model, trained.rows, values=8, preset=preset)
        found, runs = forest._answers(trained.rows)
    except lw.LimbwiseError as error:
        return "refused", f"{trained.kind}: {error}"
    wanted, facts = trained.model.predict(trained.rows), runs[0].facts
    name = trained.kind + (" that lacks values" if trained.lacks else "")
    if facts["wrong"]:
        return "wrong", f"{name}: {facts['wrong']} messages"
    if trained.classes:
        # Classes with equal shares are told apart by rounding alone.
        shares = np.sort(trained.model.predict_proba(trained.rows))
        differ = int(np.sum((found != wanted) & (shares[:, -1] - shares[:, -2] > 1e-6)))
        moved = ROWS - facts["same_class_as_floats"]
        return ("equal", name) if differ <= moved else ("wrong", f"{name}: {found} beside {wanted}, {moved} by quantization")
    near = facts["largest_error_of_quantization"] + 1e-5 * np.abs(forest_scores(found, forest)).max()
    off = np.abs(forest_scores(found, forest) - forest_scores(wanted, forest)).max()
    return ("equal", name) if off <= near else ("wrong", f"{name}: {found} beside {wanted}, {off} where {near} is said")


def forest_scores(answers, forest):
    """Scores of predictions: quantization is told of scores."""
    return np.log(answers) if forest._link == "exp" else np.asarray(answers, dtype=np.float64)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forests", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="of the first forest")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    kinds = Counter()
    with tempfile.TemporaryDirectory() as folder:
        _, preset = small_sets(Path(folder))
        for seed in range(options.seed, options.seed + options.forests):
            kind, text = judged(seed, str(preset))
            kinds[f"{kind}: {text}" if kind != "wrong" else kind] += 1
            if kind == "wrong":
                print(f"wrong {seed}: {text}", flush=True)
    for kind, count in sorted(kinds.items()):
        print(f"{count:5} {kind}")
    return int(kinds["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
