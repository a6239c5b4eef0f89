"""Fitted models of XGBoost as trees, from the JSON that the package itself writes, and what their scores stand for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from limbwise.errors import ParamsError

Numbers = npt.NDArray[np.float64]

_CLASSES = ("binary:logistic", "multi:softprob", "multi:softmax")
_SAME = ("squarederror", "absoluteerror", "pseudohubererror", "squaredlogerror")
# What a prediction is of its score.
_LINKS = {
    **{f"reg:{name}": "identity" for name in _SAME},
    "reg:logistic": "logistic",
    "count:poisson": "exp",
    "reg:gamma": "exp",
    "reg:tweedie": "exp",
}


@dataclass(frozen=True)
class Tree:
    """The nodes of a tree, under scikit-learn's names."""

    children_left: npt.NDArray[np.int64]
    children_right: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int64]
    threshold: Numbers
    missing_go_to_left: npt.NDArray[np.int64]


class Parts:
    """What a model says: trees, each with the values of its nodes, what is added to their sum, and its link."""

    # A row goes left where its value is below the threshold, which has 32 bits.
    mode = "BRANCH_LT"
    # Rows are rounded to 32 bits before they are compared.
    single = True

    def __init__(self, model: Any) -> None:
        try:
            booster = model.get_booster()
        except Exception:
            raise ParamsError(f"{type(model).__name__}: wanted a fitted one (call fit before)") from None
        learner = json.loads(bytes(booster.save_raw("json")))["learner"]
        boosted, about, objective = (learner[k] for k in ("gradient_booster", "learner_model_param", "objective"))
        self.classes = getattr(model, "classes_", None)
        self.link = "identity" if self.classes is not None else _LINKS.get(objective["name"])
        if self.link is None or (self.classes is not None and objective["name"] not in _CLASSES):
            wanted = ", ".join(_LINKS if self.classes is None else _CLASSES)
            raise ParamsError(f"{type(model).__name__} of the objective {objective['name']}: wanted one of {wanted}")
        if boosted["name"] not in ("gbtree", "dart"):
            raise ParamsError(f"{type(model).__name__} of booster {boosted['name']}: wanted gbtree or dart")
        if int(about["num_target"]) > 1:
            outputs = f"{about['num_target']} outputs"
            raise ParamsError(f"{type(model).__name__} of {outputs}: wanted one; train one for each")
        self._width = max(int(about["num_class"]), 1)
        held = boosted.get("gbtree", boosted)["model"]
        # With early stopping predictions come from the best of the rounds.
        best = booster.attr("best_iteration")
        count = len(held["trees"]) if best is None else held["iteration_indptr"][int(best) + 1]
        drops = boosted.get("weight_drop") or [1.0] * count
        start = np.atleast_1d(np.array(json.loads(about["base_score"]), dtype=np.float64))
        logistic = objective["name"] in ("binary:logistic", "reg:logistic")
        start = np.log(start / (1 - start)) if logistic else np.log(start) if self.link == "exp" else start
        self.base = np.broadcast_to(start, (self._width,)).copy()
        self.trees: list[tuple[Any, Numbers]] = []
        for tree, column, weight in zip(held["trees"][:count], held["tree_info"], drops, strict=False):
            if any(tree["split_type"]):
                raise ParamsError("splits by categories: wanted numbers (enable_categorical=False)")
            self._add(tree, column, weight)
        if self.classes is not None and self._width == 1:
            self.trees, self.base = halved(self.trees, self.base)

    def _add(self, tree: dict[str, Any], column: int, weight: float) -> None:
        names = ("left_children", "right_children", "split_indices", "default_left")
        left, right, feature, to_left = (np.array(tree[name], dtype=np.int64) for name in names)
        # Written with the fewest digits that give back 32 bits. The condition of a leaf is its value.
        numbers = np.array(tree["split_conditions"], dtype=np.float32).astype(np.float64)
        values = np.zeros((len(left), self._width))
        values[:, column] = np.where(left < 0, numbers * weight, 0.0)
        self.trees.append((Tree(left, right, feature, np.where(left < 0, 0.0, numbers), to_left), values))


def halved(trees: list[tuple[Any, Numbers]], base: Numbers) -> tuple[list[tuple[Any, Numbers]], Numbers]:
    """Give each of two classes half of the score, with its sign.

    The runtime of ONNX takes a start of two classes for one of its own kind; in the first tree it is a value like any.
    """
    halves = np.array([-0.5, 0.5])
    both = [(tree, values * halves) for tree, values in trees]
    both[0] = both[0][0], both[0][1] + base * halves
    return both, np.zeros(2)


def linked(scores: Numbers, link: str) -> Numbers:
    """Return predictions for scores."""
    if link == "exp":
        return np.exp(scores)
    return 1 / (1 + np.exp(-scores)) if link == "logistic" else scores
