"""Forests through ``lw.trees``: the shipped one, planned and run by both sides on a ring without security."""

import importlib.util
from pathlib import Path

import limbwise as lw
import numpy as np
import pytest
from limbwise.errors import LimbwiseError, ParamsError

ROOT = Path(__file__).parents[2]
FOREST = ROOT / "crates/apps/data/forest_breast_cancer.onnx"
TINY = ROOT / "crates/fuzz/corpus/tfhe-params-toml/tiny-4.toml"


@pytest.fixture(scope="module")
def table():
    rows = np.loadtxt(ROOT / "crates/apps/data/breast_cancer_wisconsin.csv", delimiter=",", skiprows=1)
    return rows[400:, :-1], rows[400:, -1].astype(int)


@pytest.fixture(scope="module")
def forest(table):
    return lw.trees.compile(FOREST, table[0][:2], preset=TINY)


def test_a_plan_counts_bootstrappings(forest):
    plan = forest.plan()
    assert plan.facts["bootstrappings_per_row"] == plan.facts["alternatives"]["by_block"]
    assert plan.facts["alternatives"]["by_leaf"] == plan.facts["leaves"]
    assert forest.time("counts")["counts"].seconds >= 0


def test_answers_are_the_forests(forest, table):
    x, y = table
    found = forest.check(x[:3], y[:3])
    assert (found["rows"], found["wrong"], found["same_class_as_floats"]) == (3, 0, 3)
    assert found["accuracy"]["encrypted"] == found["accuracy"]["twin"]
    assert forest.predict(x[:3]).tolist() == y[:3].tolist()


def test_both_sides_by_files(forest, table):
    client, server = forest.keygen()
    classes, scores = client.decrypt(server(client.encrypt(table[0][2:4])))
    assert classes.tolist() == table[1][2:4].tolist()
    assert scores.shape == (2, 1)
    # Samples that are encrypted before the answer to others is read.
    first = client.encrypt(table[0][:2])
    answer = server(first)
    client.encrypt(table[0][2:4])
    with pytest.raises(lw.WireError, match="other inputs"):
        client.decrypt(answer)
    classes, _ = client.decrypt(answer, inputs=first)
    assert classes.tolist() == table[1][:2].tolist()


def test_what_is_no_forest_is_told(table):
    with pytest.raises(ParamsError, match=r"an onnx\.ModelProto"):
        lw.trees.compile(3, table[0][:1])
    with pytest.raises(ParamsError, match="rows of features"):
        lw.trees.compile(FOREST, table[0][0])
    with pytest.raises(LimbwiseError, match="29 columns"):
        lw.trees.compile(FOREST, table[0][:1, 1:])
    with pytest.raises(LimbwiseError, match="tree ensemble"):
        lw.trees.compile(b"\xff" * 64, table[0][:1])


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="needs limbwise[nn]")
def test_forests_of_scikit_learn(table):
    pytest.importorskip("onnx")
    from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestRegressor

    x, y = table
    boosted = GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0).fit(x, y)
    assert lw.trees.compile(boosted, x[:2], preset=TINY).predict(x[:2]).tolist() == boosted.predict(x[:2]).tolist()
    numbers = RandomForestRegressor(4, max_depth=3, random_state=0).fit(x, x[:, 0])
    got = lw.trees.compile(numbers, x[:2], values=8, preset=TINY).predict(x[:2])
    assert np.abs(got - numbers.predict(x[:2])).max() < 0.1
    with pytest.raises(ParamsError, match="AdaBoost"):
        lw.trees.compile(AdaBoostClassifier(n_estimators=2).fit(x, y), x[:1])


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="needs limbwise[nn]")
def test_a_model_of_missing_values_answers_rows_without():
    tree = pytest.importorskip("sklearn.tree")
    pytest.importorskip("onnx")
    # The first division is by whether the feature is missing: its threshold is infinite.
    x = np.array([[np.nan], [np.nan], [np.nan], [1.0], [2.0], [3.0]])
    model = tree.DecisionTreeClassifier(random_state=0).fit(x, [0, 0, 0, 1, 2, 2])
    assert np.isinf(model.tree_.threshold).any()
    rows = np.array([[0.5], [2.5]])
    forest = lw.trees.compile(model, rows, preset=TINY)
    assert forest.predict(rows).tolist() == model.predict(rows).tolist() == [1, 2]
    with pytest.raises(ParamsError, match="NaN"):
        forest.predict(x[:1])


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="needs limbwise[nn]")
def test_models_that_are_not_fitted_or_of_other_rows_are_told(table):
    pytest.importorskip("onnx")
    from sklearn.tree import DecisionTreeClassifier

    with pytest.raises(ParamsError, match="DecisionTreeClassifier: wanted a fitted one"):
        lw.trees.compile(DecisionTreeClassifier(), table[0][:1])
    fitted = DecisionTreeClassifier(max_depth=2).fit(*table)
    with pytest.raises(ParamsError, match="rows of 3 features: the model was fitted on"):
        lw.trees.compile(fitted, table[0][:1, :3])


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="needs limbwise[nn]")
@pytest.mark.parametrize("labels", [["01", "02"], [False, True], [1.0, 2.0], ["1", "x"]])
def test_labels_keep_their_type(table, labels):
    pytest.importorskip("onnx")
    from limbwise.trees import _of_sklearn
    from sklearn.tree import DecisionTreeClassifier

    x, y = table
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, np.array(labels)[y])
    found, wanted = lw.trees.compile(tree, x[:2], preset=TINY).predict(x[:2]), tree.predict(x[:2])
    assert (found.dtype, found.tolist()) == (wanted.dtype, wanted.tolist())
    # An ONNX file has integers or texts.
    file = lw.trees.compile(_of_sklearn(tree, x.shape[1]), x[:2], preset=TINY).predict(x[:2])
    assert file.tolist() == (wanted.tolist() if wanted.dtype.kind == "U" else wanted.astype(int).tolist())
