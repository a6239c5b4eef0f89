"""Decision trees and forests on encrypted rows: exact, by tables of TFHE.

>>> forest = lw.trees.compile("forest.onnx", x[:1])
>>> print(forest.plan())
>>> forest.predict(x[:1])
>>> forest.check(x)

``limbwise[nn]`` has scikit-learn and onnx, which models that are no files take.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbwise import _xgboost
from limbwise._sides import Compiled, Numbers
from limbwise._workloads import Run, Workload
from limbwise._xgboost import Tree
from limbwise.errors import MissingDependency, ParamsError
from limbwise.program import Plan, Timing

_MOST_ROWS = 64
# The largest threshold: one of infinity divides rows by whether a feature is missing.
_MOST = 1e100


def compile(
    model: Any,
    sample: npt.ArrayLike,
    *,
    calibrate: npt.ArrayLike | None = None,
    bits: int | None = None,
    values: int = 4,
    missing: bool = False,
    memory: str | int | None = None,
    preset: str | None = None,
) -> Forest:
    """Return a forest as an encrypted program for so many rows at once.

    Args:
        model: a path or the bytes of an ONNX file with a tree ensemble, an ``onnx.ModelProto``, or a fitted decision
            tree, random forest, extra trees or (histogram) gradient boosting of scikit-learn, or a fitted model of
            XGBoost.
        sample: rows of features, as many as the program will run on at once: 1 to 64. NaN is a value that is missing:
            it goes where the model says.
        calibrate: rows whose least and largest values ``bits`` divides; ``sample`` by default.
        bits: bits of a feature: thresholds are moved to ``2**bits - 1`` places. By default they stay as they are.
        values: bits of a leaf's value, 1 to 8.
        missing: whether other rows than ``sample`` may lack values though none of these does.
        memory: a budget for the whole process, such as ``"8 GB"``.
        preset: parameters by name or file; ``2-2-p128`` by default.

    Raises:
        ParamsError: a model that is no forest, a tree that the parameters have no room for.
        MissingDependency: a model of a package that is not installed.
    """
    rows = _rows(sample)
    home = tempfile.TemporaryDirectory(prefix="limbwise-trees-")
    path, link = _onnx_file(model, rows.shape[1], Path(home.name))
    others = None if calibrate is None else _rows(calibrate)
    forest = Forest(
        path, rows, others, home, memory, {"bits": bits, "values": values, "missing": missing, "preset": preset}
    )
    forest._classes, forest._link = getattr(model, "classes_", None), link
    return forest


def _rows(values: npt.ArrayLike) -> Numbers:
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2 or len(rows) == 0:
        raise ParamsError(f"an array of {rows.shape}: wanted rows of features")
    return rows


def _onnx_file(model: Any, features: int, home: Path) -> tuple[Path, str]:
    """Return the file of a model, written into a directory unless it is one, and what predictions are of its scores."""
    if isinstance(model, (str, os.PathLike)):
        return Path(model).absolute(), "identity"
    path, link = home / "forest.onnx", "identity"
    if isinstance(model, (bytes, bytearray)):
        path.write_bytes(model)
    elif hasattr(model, "SerializeToString"):
        path.write_bytes(model.SerializeToString())
    elif type(model).__module__.split(".")[0] == "sklearn":
        found = _Parts(model)
        path.write_bytes(_of_parts(found, model, features))
        link = found.link
    elif hasattr(model, "get_booster"):
        parts = _xgboost.Parts(model)
        path.write_bytes(_of_parts(parts, model, features))
        link = str(parts.link)
    else:
        wanted = "a path, bytes, an onnx.ModelProto, a tree or forest of scikit-learn or a model of XGBoost"
        raise ParamsError(f"a model of {type(model).__name__}: wanted {wanted}")
    return path, link


def _below(thresholds: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Return the largest floats of 32 bits that are not above thresholds of 64: rows of 32 bits compare the same.

    A threshold of infinity, which divides rows by whether a feature is missing, becomes one that no number exceeds.
    """
    most = np.finfo(np.float32).max
    near = np.minimum(thresholds, most).astype(np.float32)
    return np.where(near.astype(np.float64) > thresholds, np.nextafter(near, np.float32(-np.inf)), near)


class _Parts:
    """What a model of scikit-learn says: trees, each with the values of its nodes, and what is added to their sum."""

    mode = "BRANCH_LEQ"
    # Whether rows are rounded to 32 bits before they are compared.
    single = True

    def __init__(self, model: Any) -> None:
        if not hasattr(model, "n_features_in_"):
            raise ParamsError(f"{type(model).__name__}: wanted a fitted one (call fit before)")
        kinds = {base.__name__.removesuffix("Classifier").removesuffix("Regressor") for base in type(model).__mro__}
        self.classes = getattr(model, "classes_", None)
        # What predictions are of scores.
        self.link = "identity"
        self.trees: list[tuple[Any, Numbers]] = []
        if getattr(model, "n_outputs_", 1) != 1:
            raise ParamsError(f"{type(model).__name__} of {model.n_outputs_} outputs: wanted one; train one for each")
        if "HistGradientBoosting" in kinds:
            self._of_histograms(model)
        elif "GradientBoosting" in kinds:
            self._boosted(model)
        elif kinds & {"RandomForest", "ExtraTrees"}:
            self._sum([one.tree_ for one in model.estimators_])
        elif kinds & {"DecisionTree", "ExtraTree"}:
            self._sum([model.tree_])
        else:
            wanted = "a fitted decision tree, random forest, extra trees or (histogram) gradient boosting"
            raise ParamsError(f"{type(model).__name__}: wanted {wanted}, or its ONNX file")

    def _sum(self, trees: list[Any]) -> None:
        """Take trees whose answers are averaged: shares of classes, or means. Of two classes the second is enough."""
        for tree in trees:
            values = np.asarray(tree.value, dtype=np.float64)[:, 0, :]
            if self.classes is not None:
                values = values / values.sum(axis=1, keepdims=True)
                values = values[:, 1:] if len(self.classes) == 2 else values
            self.trees.append((tree, values / len(trees)))
        self.base = np.zeros(1 if self.classes is None or len(self.classes) == 2 else len(self.classes))

    def _boosted(self, model: Any) -> None:
        """Take trees whose answers are added to a start. Of two classes each gets half of the score, with its sign."""
        width, init = model.estimators_.shape[1], model.init_
        if isinstance(init, str):
            self.base = np.zeros(width)
        elif type(init).__name__ == "DummyRegressor":
            self.base = np.asarray(init.constant_, dtype=np.float64).ravel()
        elif type(init).__name__ == "DummyClassifier":
            shares = np.log(np.clip(init.class_prior_, np.finfo(np.float32).eps, None))
            odds = (shares[1] - shares[0]) * (0.5 if model.loss == "exponential" else 1.0)
            self.base = np.array([odds]) if width == 1 else shares - shares.mean()
        else:
            raise ParamsError(
                f"{type(model).__name__} that starts from {type(init).__name__}: wanted init=None or 'zero'"
            )
        for stage in model.estimators_:
            for column, one in enumerate(stage):
                values = np.zeros((one.tree_.node_count, width))
                values[:, column] = model.learning_rate * np.asarray(one.tree_.value)[:, 0, 0]
                self.trees.append((one.tree_, values))
        self._two_classes()

    def _of_histograms(self, model: Any) -> None:
        """Take trees that compare with 64 bits, and know where a missing value goes."""
        if getattr(model, "is_categorical_", None) is not None:
            raise ParamsError(f"{type(model).__name__} with categories: wanted numbers (categorical_features=None)")
        if self.classes is None and model.loss in ("poisson", "gamma"):
            self.link = "exp"
        self.single, width = False, model.n_trees_per_iteration_
        self.base = np.array(model._baseline_prediction, dtype=np.float64).ravel()
        for stage in model._predictors:
            for column, one in enumerate(stage):
                nodes = one.nodes
                leaf = nodes["is_leaf"].astype(bool)
                left, right = (np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
                values = np.zeros((len(nodes), width))
                values[:, column] = np.where(leaf, nodes["value"], 0.0)
                at = np.clip(nodes["num_threshold"], -_MOST, _MOST)
                to_left = nodes["missing_go_to_left"].astype(np.int64)
                self.trees.append((Tree(left, right, nodes["feature_idx"].astype(np.int64), at, to_left), values))
        self._two_classes()

    def _two_classes(self) -> None:
        if self.classes is not None and len(self.base) == 1:
            self.trees, self.base = _xgboost.halved(self.trees, self.base)


def _of_parts(parts: _Parts | _xgboost.Parts, model: Any, features: int) -> bytes:
    """Return the ONNX bytes of a fitted tree or forest."""
    try:
        from onnx import TensorProto, helper
    except ImportError as e:
        raise MissingDependency("fitted models need onnx: pip install 'limbwise[nn]'") from e
    if features != model.n_features_in_:
        raise ParamsError(f"rows of {features} features: the model was fitted on {model.n_features_in_}")
    lists: dict[str, list[Any]] = {}

    def put(**entries: Any) -> None:
        for name, entry in entries.items():
            lists.setdefault(name, []).extend(entry)

    prefix = "target" if parts.classes is None else "class"
    for number, (tree, values) in enumerate(parts.trees):
        left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
        leaf = left < 0
        nodes = np.arange(len(left))
        thresholds = np.asarray(tree.threshold)
        # A leaf has no feature and no threshold; what is written there is not read.
        put(
            nodes_treeids=[number] * len(nodes),
            nodes_nodeids=nodes.tolist(),
            nodes_featureids=np.where(leaf, 0, tree.feature).tolist(),
            nodes_values=np.where(leaf, 0, _below(thresholds) if parts.single else thresholds).tolist(),
            nodes_modes=np.where(leaf, "LEAF", parts.mode).tolist(),
            nodes_truenodeids=np.where(leaf, 0, left).tolist(),
            nodes_falsenodeids=np.where(leaf, 0, right).tolist(),
            # On the left where a comparison holds.
            nodes_missing_value_tracks_true=np.where(leaf, 0, getattr(tree, "missing_go_to_left", 0)).tolist(),
        )
        at, output = np.nonzero(np.repeat(leaf[:, None], values.shape[1], axis=1))
        put(
            **{
                f"{prefix}_treeids": [number] * len(at),
                f"{prefix}_nodeids": at.tolist(),
                f"{prefix}_ids": output.tolist(),
                f"{prefix}_weights": values[at, output].tolist(),
            }
        )
    given: dict[str, Any] = {**lists, "post_transform": "NONE"}
    if not parts.single:
        at = given.pop("nodes_values")
        given["nodes_values_as_tensor"] = helper.make_tensor("at", TensorProto.DOUBLE, [len(at)], at)
    if parts.base.any():
        given["base_values"] = parts.base.tolist()
    if parts.classes is None:
        operator, given["n_targets"] = "TreeEnsembleRegressor", 1
        outputs = ["scores"]
    else:
        operator, outputs = "TreeEnsembleClassifier", ["label", "scores"]
        named = np.asarray(parts.classes)
        if named.dtype.kind in "biu" or (named.dtype.kind == "f" and (named == np.floor(named)).all()):
            given["classlabels_int64s"] = [int(label) for label in named]
        else:
            given["classlabels_strings"] = [str(label) for label in named]
    node = helper.make_node(operator, ["x"], outputs, name="trees", domain="ai.onnx.ml", **given)
    info = helper.make_tensor_value_info
    label = TensorProto.STRING if "classlabels_strings" in given else TensorProto.INT64
    kinds = [info(name, label if name == "label" else TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph([node], "trees", [info("x", TensorProto.FLOAT, ["rows", features])], kinds)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    made: bytes = helper.make_model(graph, opset_imports=sets).SerializeToString()
    return made


class Forest(Compiled):
    """A compiled forest; made by :func:`compile`."""

    def __init__(
        self,
        path: Path,
        rows: Numbers,
        calibrate: Numbers | None,
        home: tempfile.TemporaryDirectory[str],
        memory: str | int | None,
        options: dict[str, Any],
    ) -> None:
        super().__init__(path, rows, home)
        # The labels of a classifier of scikit-learn, with their type.
        self._classes: npt.NDArray[Any] | None = None
        # What predictions are of scores.
        self._link = "identity"
        self._memory, self._options = memory, options
        if options["bits"] is not None:
            options["calibrate"] = self._write("calibrate", rows if calibrate is None else calibrate)
        self.workload = self._with(rows, "rows", None)

    def _with(self, rows: Numbers, name: str, labels: npt.ArrayLike | None) -> Workload:
        label = None
        if labels is not None:
            rows, label = np.column_stack([rows, np.asarray(labels, dtype=np.float64)]), "last"
        data = self._write(name, rows)
        if label is not None and "calibrate" in self._options:
            raise ParamsError("labels beside bits=: the rows to calibrate on have none")
        return Workload(
            "forest",
            memory=self._memory,
            model=self.path,
            data=data,
            label=label,
            rows=len(rows),
            **self._options,
        )

    def plan(self) -> Plan:
        """Plan before any key exists: bootstrappings, failure probability, keys, memory, seconds."""
        return self.workload.plan()

    def time(self, machines: str = "ark", **numbers: Any) -> dict[str, Timing]:
        """Schedule the program on machine models, several with commas between.

        Args:
            machines: names of models (:func:`limbwise.machines`) or TOML files.
            numbers: numbers of the machines to change.
        """
        return {name.strip(): self.workload.time(name.strip(), **numbers) for name in machines.split(",")}

    def run(self, *, device: str | None = None, threads: int | None = None, profile: bool = False) -> Run:
        """Run client and server in one process on the rows, and compare with the quantized forest in the clear."""
        return self.workload.run(device=device, threads=threads, profile=profile)

    def predict(self, rows: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the answers for rows, encrypted, evaluated and decrypted here: labels, or numbers of a regression.

        Labels have the type that the classifier has them in: texts stay texts, and booleans booleans.

        Args:
            rows: rows of features, any number; 64 at most are evaluated at once.
        """
        return self._answers(_rows(rows))[0]

    def _answers(self, rows: Numbers, labels: npt.ArrayLike | None = None) -> tuple[npt.NDArray[Any], list[Run]]:
        found, runs = [], []
        told = None if labels is None else np.asarray(labels)
        for at in range(0, len(rows), _MOST_ROWS):
            some = slice(at, at + _MOST_ROWS)
            run = self._with(rows[some], "predict", None if told is None else told[some]).run()
            facts = run.facts
            names = self._labels(facts)
            scores = np.asarray(facts["scores"])
            answers = _xgboost.linked(scores[:, 0] if scores.shape[1] == 1 else scores, self._link)
            found.append(names[facts["classes"]] if len(names) else answers)
            runs.append(run)
        return np.concatenate(found), runs

    def _labels(self, facts: dict[str, Any]) -> npt.NDArray[Any]:
        """Return the labels of a classifier with their type; none of a regression."""
        written = facts["class_labels"]
        if self._classes is not None:
            return np.asarray(self._classes)
        return np.asarray(written if facts["class_labels_are_texts"] else [int(label) for label in written])

    def check(self, rows: npt.ArrayLike, labels: npt.ArrayLike | None = None) -> dict[str, Any]:
        """Return how encrypted answers and those of the forest of floats agree: each row is run encrypted.

        Args:
            rows: rows of features.
            labels: the right labels or numbers; labels that are numbers only.
        """
        if labels is not None and self._link != "identity":
            raise ParamsError(f"labels beside scores whose {self._link} is the prediction: compare those of predict")
        answers, runs = self._answers(_rows(rows), labels)
        facts = [run.facts for run in runs]
        found: dict[str, Any] = {
            "rows": len(answers),
            "wrong": sum(one["wrong"] for one in facts),
            "largest_error_of_quantization": max(one["largest_error_of_quantization"] for one in facts),
            "bootstrappings_per_row": facts[0]["bootstrappings_per_row"],
            "seconds_per_row": sum(one["seconds"] for one in facts) / len(answers),
        }
        if "same_class_as_floats" in facts[0]:
            found["same_class_as_floats"] = sum(one["same_class_as_floats"] for one in facts)
        for name in ("accuracy", "mean_error"):
            if name in facts[0]:
                weights = [len(one["scores"]) for one in facts]
                found[name] = {
                    who: float(np.average([one[name][who] for one in facts], weights=weights)) for who in facts[0][name]
                }
        return found


__all__ = ["Forest", "compile"]
