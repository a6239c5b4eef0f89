"""Fitted models of scikit-learn as ONNX: linear models and MLPs, also behind scalers and PCA in a pipeline.

What is made is compared with the model itself on the samples, so that no model is taken for another one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from limbwise.errors import MissingDependency, ParamsError

Numbers = npt.NDArray[np.float64]
#: Weights, a bias, and the operator behind them.
Layer = tuple[Numbers, Numbers, str]

ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid", "identity": "Identity"}
CLEAR: dict[str, Callable[[Any], Any]] = {
    "Identity": lambda x: x,
    "Relu": lambda x: np.maximum(x, 0),
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Exp": np.exp,
}
#: Largest difference to the model itself, for each unit of its largest output.
SAME = 1e-4


def onnx_bytes(model: Any, samples: Numbers) -> bytes:
    """Return the ONNX bytes of a model: of a classifier the scores before argmax and softmax."""
    try:
        import onnx
    except ImportError as e:
        raise MissingDependency("models of scikit-learn need onnx: pip install 'limbwise[onnx]'") from e
    *before, (_, last) = getattr(model, "steps", [("model", model)])
    layers = _layers(last)
    for _, step in reversed(before):
        if step is None or isinstance(step, str):  # "passthrough"
            continue
        weights, bias, activation = layers[0]
        try:
            factors, shifts = _affine(step)
        except AttributeError as e:
            raise ParamsError(f"{type(step).__name__} in a pipeline: wanted a fitted one ({e})") from e
        layers[0] = (factors @ weights, bias + shifts @ weights, activation)
    _check(model, last, layers, samples)
    made = _graph(layers, int(samples.shape[-1]))
    onnx.load_from_string(made)
    return made


def _graph(layers: list[Layer], features: int) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    nodes, weights_of, name = [], [], "x"
    for at, (weights, bias, activation) in enumerate(layers):
        for what, value in (("w", weights), ("b", bias)):
            weights_of.append(numpy_helper.from_array(np.asarray(value, np.float32), f"{what}{at}"))
        nodes.append(helper.make_node("Gemm", [name, f"w{at}", f"b{at}"], [f"h{at}"], name=f"layer{at}"))
        nodes.append(helper.make_node(activation, [f"h{at}"], [f"y{at}"], name=f"layer{at}.{activation.lower()}"))
        name = f"y{at}"
    info = helper.make_tensor_value_info
    inputs = [info("x", TensorProto.FLOAT, ["batch", features])]
    outputs = [info(name, TensorProto.FLOAT, ["batch", int(layers[-1][0].shape[1])])]
    graph = helper.make_graph(nodes, "sklearn", inputs, outputs, weights_of)
    made: bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
    return made


def _layers(model: Any) -> list[Layer]:
    """Return the layers of the last step."""
    kind = type(model).__name__
    if kind in ("SVC", "NuSVC") and len(getattr(model, "classes_", ())) > 2:
        wanted = "LinearSVC or LogisticRegression, or a classifier of two classes"
        raise ParamsError(f"{kind} of {len(model.classes_)} classes has a score for each pair of them: wanted {wanted}")
    if hasattr(model, "coefs_"):
        end = "Exp" if getattr(model, "out_activation_", "") == "exp" else "Identity"
        names = [ACTIVATIONS[model.activation]] * (len(model.coefs_) - 1) + [end]
        triples = zip(model.coefs_, model.intercepts_, names, strict=True)
        return [(np.asarray(weights), np.asarray(bias), name) for weights, bias, name in triples]
    if hasattr(model, "coef_"):
        coefficients = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
        weights = np.atleast_2d(np.asarray(coefficients, dtype=np.float64)).T
        # SGDOneClassSVM has an offset alone.
        shift = getattr(model, "intercept_", None)
        shift = -np.asarray(getattr(model, "offset_", 0.0)) if shift is None else np.asarray(shift)
        return [(weights, np.broadcast_to(shift, weights.shape[1:]), "Exp" if _is_log_linear(model) else "Identity")]
    raise ParamsError(f"{kind}: wanted a fitted linear model or MLP")


def _is_log_linear(model: Any) -> bool:
    """Return whether a generalized linear model predicts the exponential of its linear part."""
    kind, link = type(model).__name__, getattr(model, "link", "auto")
    by_link = link == "log" or (link == "auto" and getattr(model, "power", 0) > 0)
    return kind in ("PoissonRegressor", "GammaRegressor") or (kind == "TweedieRegressor" and by_link)


def _affine(scaler: Any) -> tuple[Any, Any]:
    """Return what a fitted transformer is: a matrix, from features to features, and a shift behind it."""
    kind, count = type(scaler).__name__, getattr(scaler, "n_features_in_", 0)
    clips = getattr(scaler, "clip", False)
    if kind == "StandardScaler":
        factors = 1.0 / np.asarray(scaler.scale_) if scaler.with_std else np.ones(count)
        means = np.asarray(scaler.mean_) if scaler.with_mean else np.zeros(count)
        return np.diag(factors), -means * factors
    if kind == "RobustScaler":
        factors = 1.0 / np.asarray(scaler.scale_) if scaler.with_scaling else np.ones(count)
        centres = np.asarray(scaler.center_) if scaler.with_centering else np.zeros(count)
        return np.diag(factors), -centres * factors
    if kind == "MinMaxScaler" and not clips:
        return np.diag(scaler.scale_), np.asarray(scaler.min_)
    if kind == "MaxAbsScaler" and not clips:
        return np.diag(1.0 / np.asarray(scaler.scale_)), np.zeros(count)
    if kind == "PCA":
        matrix = np.asarray(scaler.components_).T
        if scaler.whiten:
            sizes = np.sqrt(scaler.explained_variance_)
            matrix = matrix / np.maximum(sizes, np.finfo(sizes.dtype).eps)
        return matrix, -np.asarray(scaler.mean_) @ matrix
    if kind == "TruncatedSVD":
        matrix = np.asarray(scaler.components_).T
        return matrix, np.zeros(matrix.shape[1])
    wanted = (
        "StandardScaler, RobustScaler, MinMaxScaler or MaxAbsScaler without clip, PCA or TruncatedSVD before the model"
    )
    raise ParamsError(f"{kind} in a pipeline: wanted {wanted}")


def _check(model: Any, last: Any, layers: list[Layer], samples: Numbers) -> None:
    """Compare layers with the model that they were made of."""
    rows, features = samples.reshape(-1, samples.shape[-1]), layers[0][0].shape[0]
    if rows.shape[1] != features:
        raise ParamsError(f"samples of {rows.shape[1]} features: the model was fitted on {features}")
    got: Numbers = rows
    for weights, bias, activation in layers:
        got = CLEAR[activation](got @ weights + bias)
    is_mlp_classifier = hasattr(last, "coefs_") and hasattr(model, "predict_proba")
    names = ("predict_proba",) if is_mlp_classifier else ("decision_function", "predict")
    said = next((getattr(model, name) for name in names if hasattr(model, name)), None)
    if said is None:
        return
    kind = type(last).__name__
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the features have no names
            wanted = np.asarray(said(rows), dtype=np.float64).reshape(len(rows), -1)
    except (AttributeError, TypeError, ValueError) as e:
        raise ParamsError(f"{kind}: it cannot be compared with the network made of it: {e}") from e
    if is_mlp_classifier:
        got = _probabilities(got, getattr(last, "out_activation_", "softmax"))
    is_same = got.shape == wanted.shape and np.allclose(
        got, wanted, rtol=0, atol=SAME * max(np.abs(wanted).max(), 1e-9)
    )
    if not is_same:
        text = "it computes something else than its weights and its bias say"
        raise ParamsError(f"{kind}: {text}: wanted a linear model whose outputs are x·coef_ + intercept_, or an MLP")


def _probabilities(scores: Numbers, activation: str) -> Numbers:
    """Return what a classifier makes of the scores of an MLP."""
    if activation == "softmax":
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        found: Numbers = powers / powers.sum(axis=1, keepdims=True)
        return found
    ones = 1 / (1 + np.exp(-scores))
    return np.hstack([1 - ones, ones]) if ones.shape[1] == 1 else ones


__all__ = ["onnx_bytes"]
