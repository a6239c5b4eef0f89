"""Networks from ONNX through ``lw.nn``: a small file, planned and run by both sides on a ring without security."""

import importlib.util
from pathlib import Path

import limbwise as lw
import numpy as np
import pytest
from limbwise.errors import LimbwiseError, ParamsError

DATA = Path(__file__).parents[2] / "crates/apps/tests/data"


@pytest.fixture(scope="module")
def samples():
    return np.load(DATA / "small_x.npy"), np.load(DATA / "small_y.npy")


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    path = tmp_path_factory.mktemp("ring") / "small.toml"
    path.write_text(lw.Params.preset("n16-l24-s40").on_ring(11, insecure="a test").to_toml())
    return path


@pytest.fixture(scope="module")
def net(samples, ring):
    x, _ = samples
    return lw.nn.compile(DATA / "small.onnx", x[:2], calibrate=x[2:], error=0.005, margin=2.5, preset=ring)


def test_a_plan_has_a_row_for_each_layer(net):
    plan = net.plan()
    assert [layer["name"] for layer in plan.layers][:2] == ["x", "norm"]
    assert plan.twin["samples"] == 2
    assert plan.twin["mean_error"] < 0.05
    text = str(plan)
    assert "norm" in text
    assert "degree" in text
    assert "peak memory" in text
    made = [layer for layer in plan.layers if layer["operation"] != "input"]
    assert all(layer["seconds"] > 0 and layer["bits"] > 5 for layer in made)
    assert max(layer["keys"] for layer in made) > 1
    assert sum(layer["seconds"] for layer in made) == pytest.approx(plan.plan.facts["seconds_predicted"], rel=0.05)


def test_both_sides_give_the_networks_scores(net, samples):
    x, y = samples
    client, server = net.keygen()
    scores = client.decrypt(server(client.encrypt(x[:2])))
    assert scores.shape == (2, 3)
    for wrong in (x[:3], x[:1], x[:2, :1]):
        with pytest.raises(ParamsError, match="the model was compiled for 2 samples of"):
            client.encrypt(wrong)
    assert np.abs(scores - y[:2]).max() < 0.1
    assert np.abs(scores - y[:2]).max() > 1e-9
    # Encoded once, and read from then on.
    file = server.prepare()
    assert file.stat().st_size > 0
    assert server.prepare() == file
    again = client.decrypt(server(client.encrypt(x[:2])))
    assert np.abs(again - y[:2]).max() < 0.1


def test_checks_and_times(net, samples):
    x, y = samples
    found = net.check(x[2:], y[2:].argmax(1))
    assert found["twin"]["same_class"] == 2
    assert found["twin"]["accuracy"] == [1.0, 1.0]
    assert net.time("ark")["ark"].seconds > 0


def test_what_cannot_be_compiled_is_told(samples, ring, tmp_path):
    x, _ = samples
    with pytest.raises(ParamsError, match="calibrate"):
        lw.nn.compile(DATA / "small.onnx", x[:1])
    with pytest.raises(ParamsError, match=r"an onnx\.ModelProto"):
        lw.nn.compile(3, x)
    with pytest.raises(LimbwiseError, match="samples of x"):
        lw.nn.compile(DATA / "small.onnx", x[:, :1])
    with pytest.raises(LimbwiseError, match="layer relu: no polynomial"):
        lw.nn.compile(DATA / "small.onnx", x, error=1e-9, preset=ring)
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\xff" * 64)
    with pytest.raises(LimbwiseError, match="an ONNX file"):
        lw.nn.compile(broken, x)


def test_polynomials_that_change_outputs_are_told_and_refused(tmp_path, ring):
    onnx = pytest.importorskip("onnx")
    nodes = [onnx.helper.make_node("Exp", ["x"], ["t"]), onnx.helper.make_node("Mul", ["t", "a"], ["y"])]
    info = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 4]) for name in "xy"]
    weights = [onnx.numpy_helper.from_array(np.ones(1, np.float32), "a")]
    model = onnx.helper.make_model(
        onnx.helper.make_graph(nodes, "g", info[:1], info[1:], weights),
        opset_imports=[onnx.helper.make_opsetid("", 17)],
    )
    rows = np.concatenate([np.full((2, 4), -4.0), np.linspace(-5, 5, 32).reshape(8, 4)])
    with pytest.raises(ParamsError, match="--inexact takes them as they are"):
        lw.nn.compile(model, rows[:2], calibrate=rows[2:], error=0.25, preset=ring).plan()
    plan = lw.nn.compile(model, rows[:2], calibrate=rows[2:], error=0.25, preset=ring, inexact=True).plan()
    assert plan.twin["warning"] in str(plan)
    assert "polynomials in the place of functions change outputs" in plan.twin["warning"]
    fine = lw.nn.compile(model, rows[:2] / 20, calibrate=rows[2:] / 20, preset=ring).plan()
    assert "warning" not in fine.twin
    assert "WARNING" not in str(fine)


@pytest.mark.skipif(importlib.util.find_spec("onnx") is None, reason="needs limbwise[onnx]")
def test_models_of_other_packages(samples, ring):
    import onnx

    x, _ = samples
    model = onnx.load(DATA / "small.onnx")
    assert lw.nn.compile(model, x, error=0.02, preset=ring).samples == 1

    class Fitted:
        coefs_ = (np.full((4, 3), 0.5), np.eye(3))
        intercepts_ = (np.zeros(3), np.arange(3.0))
        activation = "tanh"

    Fitted.__module__ = "sklearn.neural_network"
    rows = np.linspace(-1, 1, 32).reshape(8, 4)
    net = lw.nn.compile(Fitted(), rows, preset=ring)
    assert [layer["name"] for layer in net.plan().layers] == ["x", "layer0", "layer0.tanh", "layer1"]

    class StandardScaler:
        n_features_in_ = 4
        with_mean = with_std = True
        mean_ = np.array([0.5, -1.0, 0.0, 0.25])
        scale_ = np.array([2.0, 1.0, 0.5, 4.0])

    class PCA:
        components_ = np.array([[0.0, 1.0, 0.0, 0.0], [0.6, 0.0, 0.8, 0.0], [0.0, 0.0, 0.0, -1.0]])
        mean_ = np.array([0.1, 0.2, 0.3, 0.4])
        explained_variance_ = np.array([4.0, 1.0, 0.25])
        whiten = True

    class Linear:
        coef_ = np.array([1.0, -2.0, 0.5])
        intercept_ = 0.75

    class Pipeline:
        steps = (("scaler", StandardScaler()), ("pca", PCA()), ("model", Linear()))

    Pipeline.__module__ = "sklearn.pipeline"
    net = lw.nn.compile(Pipeline(), rows[:2], calibrate=rows[2:], preset=ring, margin=4.0)
    client, server = net.keygen()
    scores = client.decrypt(server(client.encrypt(rows[:2])))
    scaled = ((rows[:2] - StandardScaler.mean_) / StandardScaler.scale_ - PCA.mean_) @ PCA.components_.T
    wanted = scaled / np.sqrt(PCA.explained_variance_) @ Linear.coef_ + Linear.intercept_
    assert np.abs(scores[:, 0] - wanted).max() < 1e-3

    class Binarizer:
        pass

    Pipeline.steps = (("binary", Binarizer()), ("model", Linear()))
    with pytest.raises(ParamsError, match="Binarizer in a pipeline: wanted StandardScaler"):
        lw.nn.compile(Pipeline(), rows, preset=ring)

    class MaxAbsScaler:
        n_features_in_ = 3

    Pipeline.steps = (("scaler", MaxAbsScaler()), ("model", Linear()))
    with pytest.raises(ParamsError, match="MaxAbsScaler in a pipeline: wanted a fitted one"):
        lw.nn.compile(Pipeline(), rows, preset=ring)
