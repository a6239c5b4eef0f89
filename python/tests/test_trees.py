"""Forests through ``lw.trees``: the shipped one, planned and run by both sides on a ring without security."""

import importlib.util
import json
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
def test_missing_values_go_where_the_model_says(table):
    tree = pytest.importorskip("sklearn.tree")
    pytest.importorskip("onnx")
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    # The first division is by whether the feature is missing: its threshold is infinite.
    x = np.array([[np.nan], [np.nan], [np.nan], [1.0], [2.0], [3.0]])
    model = tree.DecisionTreeClassifier(random_state=0).fit(x, [0, 0, 0, 1, 2, 2])
    assert np.isinf(model.tree_.threshold).any()
    rows = np.array([[0.5], [2.5], [np.nan]])
    forest = lw.trees.compile(model, rows[:2], preset=TINY)
    assert forest.predict(rows).tolist() == model.predict(rows).tolist() == [1, 2, 0]
    with pytest.raises(LimbwiseError, match=r"row 2 has no value of feature 1, .*--missing"):
        forest.keygen()[0].encrypt(rows[1:])
    client, server = lw.trees.compile(model, rows[:2], missing=True, preset=TINY).keygen()
    assert client.decrypt(server(client.encrypt(rows[1:])))[0].tolist() == [2, 0]
    x, y = np.array(table[0]), table[1]
    x[np.random.default_rng(0).random(x.shape) < 0.2] = np.nan
    boosted = HistGradientBoostingClassifier(max_iter=3, max_depth=2, random_state=0).fit(x, y)
    assert lw.trees.compile(boosted, x[:4], preset=TINY).predict(x[:4]).tolist() == boosted.predict(x[:4]).tolist()
    numbers = HistGradientBoostingRegressor(loss="poisson", max_iter=3, max_depth=2).fit(x, y + 1)
    got = lw.trees.compile(numbers, x[:4], values=8, preset=TINY).predict(x[:4])
    assert np.allclose(got, numbers.predict(x[:4]), rtol=1e-2)


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
    from limbwise.trees import _of_parts, _Parts
    from sklearn.tree import DecisionTreeClassifier

    x, y = table
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, np.array(labels)[y])
    found, wanted = lw.trees.compile(tree, x[:2], preset=TINY).predict(x[:2]), tree.predict(x[:2])
    assert (found.dtype, found.tolist()) == (wanted.dtype, wanted.tolist())
    # An ONNX file has integers or texts.
    file = lw.trees.compile(_of_parts(_Parts(tree), tree, x.shape[1]), x[:2], preset=TINY).predict(x[:2])
    assert file.tolist() == (wanted.tolist() if wanted.dtype.kind == "U" else wanted.astype(int).tolist())


class Booster:
    """What XGBoost says of a model: two stumps on one feature each."""

    def __init__(self, objective, base, classes=0, column=(0, 0)):
        def stump(feature, at, values):
            return {
                "left_children": [1, -1, -1],
                "right_children": [2, -1, -1],
                "split_indices": [feature, 0, 0],
                "split_conditions": [at, *values],
                "split_type": [0, 0, 0],
                "default_left": [1, 0, 0],
            }

        trees = [stump(0, 0.1, [-1.0, 1.0]), stump(1, 2.5, [0.5, -0.25])]
        self.learner = {
            "learner_model_param": {"base_score": base, "num_class": str(classes), "num_target": "1"},
            "objective": {"name": objective},
            "gradient_booster": {
                "name": "gbtree",
                "model": {"trees": trees, "tree_info": list(column), "iteration_indptr": [0, 1, 2]},
            },
        }

    def attr(self, _):
        return self.learner.get("best")

    def save_raw(self, _):
        return json.dumps({"learner": self.learner}).encode()


class Boosted:
    """A fitted model of XGBoost, as far as it is read."""

    n_features_in_ = 2

    def __init__(self, booster, classes=None):
        self.booster = booster
        if classes is not None:
            self.classes_ = np.array(classes)

    def get_booster(self):
        return self.booster


def test_models_of_xgboost_give_its_answers():
    pytest.importorskip("onnx")
    # At a threshold a row goes right: 0.1 is that of 32 bits.
    rows = np.array([[0.1, 2.5], [np.nextafter(np.float32(0.1), np.float32(0)), 2.5], [0.0, 0.0]])
    scores = np.array([0.75, -1.25, -0.5])

    def predicted(booster, classes=None):
        return lw.trees.compile(Boosted(booster, classes), rows, values=8, preset=TINY).predict(rows)

    assert np.abs(predicted(Booster("reg:squarederror", "[2E0]")) - (scores + 2)).max() < 0.02
    assert np.abs(predicted(Booster("count:poisson", "[2E0]")) - 2 * np.exp(scores)).max() < 0.05
    logistic = predicted(Booster("reg:logistic", "[5E-1]"))
    assert np.abs(logistic - 1 / (1 + np.exp(-scores))).max() < 0.01
    # Half of the score for each class, and the start decides: its odds are those of 0.7 and 0.5.
    assert predicted(Booster("binary:logistic", "[7E-1]"), ["no", "yes"]).tolist() == ["yes", "no", "yes"]
    assert predicted(Booster("binary:logistic", "[5E-1]"), ["no", "yes"]).tolist() == ["yes", "no", "no"]
    three = Booster("multi:softprob", "[0E0,0E0,0E0]", 3, (1, 2))
    assert predicted(three, [4, 5, 6]).tolist() == [5, 4, 6]
    early = Booster("reg:squarederror", "0")
    early.learner["best"] = "0"
    assert np.abs(predicted(early) - [1, -1, -1]).max() < 0.02
    with pytest.raises(ParamsError, match="objective rank:ndcg: wanted one of"):
        predicted(Booster("rank:ndcg", "0"))
    with pytest.raises(ParamsError, match="labels beside scores whose exp"):
        lw.trees.compile(Boosted(Booster("reg:gamma", "1")), rows, preset=TINY).check(rows, [1, 2, 3])
