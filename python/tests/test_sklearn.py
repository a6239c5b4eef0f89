"""Models of scikit-learn as networks are the models themselves, whatever their options are."""

import warnings

import limbwise as lw
import numpy as np
import pytest
from limbwise._sklearn import onnx_bytes
from limbwise.errors import ParamsError

onnx = pytest.importorskip("onnx")
pytest.importorskip("sklearn")
from onnx.reference import ReferenceEvaluator  # noqa: E402
from sklearn import cross_decomposition, decomposition, linear_model, neural_network, preprocessing, svm  # noqa: E402
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # noqa: E402
from sklearn.multioutput import MultiOutputRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 5)) * [1, 2, 0.5, 1, 3] + [1, -2, 0, 4, 0.5]
REAL = X @ [0.3, -0.2, 0.5, 0.1, 0.05] + 0.1 * RNG.normal(size=60)
COUNTS = np.round(np.exp(0.4 * REAL)) + 1
TWO = (np.median(REAL) < REAL).astype(int)
THREE = np.digitize(REAL, np.quantile(REAL, [0.33, 0.66]))


def computed(model):
    """Outputs of the network that a model becomes."""
    session = ReferenceEvaluator(onnx.load_from_string(onnx_bytes(model, X)))
    return session.run(None, {"x": X.astype(np.float32)})[0]


def fitted(model, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def named(cases):
    return [f"{at}-{type(model).__name__}" for at, (model, _) in enumerate(cases)]


def same(got, wanted):
    wanted = np.asarray(wanted).reshape(len(X), -1)
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max() < 1e-3 * np.abs(wanted).max()


L, N = linear_model, neural_network
REGRESSORS = [
    (L.LinearRegression(), REAL),
    (L.LinearRegression(fit_intercept=False), REAL),
    (L.LinearRegression(), np.stack([REAL, TWO], 1)),
    (L.Ridge(), REAL),
    (L.MultiTaskLasso(alpha=0.01), np.stack([REAL, TWO], 1)),
    (L.BayesianRidge(), REAL),
    (L.HuberRegressor(), REAL),
    (L.QuantileRegressor(), REAL),
    (L.SGDRegressor(eta0=1e-3), REAL),
    (svm.LinearSVR(), REAL),
    (svm.SVR(kernel="linear"), REAL),
    (L.PoissonRegressor(), COUNTS),
    (L.GammaRegressor(), COUNTS),
    (L.TweedieRegressor(power=0), REAL),
    (L.TweedieRegressor(power=0, link="log"), COUNTS),
    (L.TweedieRegressor(power=1.5), COUNTS),
    (L.TweedieRegressor(power=1.5, link="log", fit_intercept=False), COUNTS),
    (N.MLPRegressor(hidden_layer_sizes=(6,), max_iter=40), REAL),
    (N.MLPRegressor(hidden_layer_sizes=(6, 4), activation="tanh", max_iter=40), np.stack([REAL, TWO], 1)),
    (N.MLPRegressor(hidden_layer_sizes=(6,), activation="identity", max_iter=40), REAL),
]
CLASSIFIERS = [
    (L.LogisticRegression(), TWO),
    (L.LogisticRegression(), THREE),
    (L.RidgeClassifier(), THREE),
    (L.SGDClassifier(), THREE),
    (L.Perceptron(), TWO),
    (svm.LinearSVC(), THREE),
    (svm.SVC(kernel="linear"), TWO),
    (svm.NuSVC(kernel="linear"), TWO),
    (svm.OneClassSVM(kernel="linear"), None),
    (L.SGDOneClassSVM(), None),
    (LinearDiscriminantAnalysis(), THREE),
]


@pytest.mark.parametrize(("model", "y"), REGRESSORS, ids=named(REGRESSORS))
def test_regressors_predict(model, y):
    fitted(model, y)
    same(computed(model), model.predict(X))


@pytest.mark.parametrize(("model", "y"), CLASSIFIERS, ids=named(CLASSIFIERS))
def test_classifiers_have_their_scores(model, y):
    fitted(model, y)
    same(computed(model), model.decision_function(X))


def test_an_mlp_of_counts_ends_in_an_exponential():
    try:
        model = neural_network.MLPRegressor(hidden_layer_sizes=(4,), loss="poisson", max_iter=40)
    except TypeError:
        pytest.skip("an older scikit-learn")
    fitted(model, COUNTS)
    same(computed(model), model.predict(X))


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_scores_of_an_mlp_give_its_probabilities(y):
    model = fitted(neural_network.MLPClassifier((6,), activation="logistic", max_iter=60), y)
    scores = computed(model)
    if scores.shape[1] == 1:
        same(1 / (1 + np.exp(-scores)), model.predict_proba(X)[:, 1])
    else:
        assert (scores.argmax(1) == model.predict(X)).all()


P, D = preprocessing, decomposition
SCALERS = [
    P.StandardScaler(),
    P.StandardScaler(with_mean=False),
    P.StandardScaler(with_std=False),
    P.StandardScaler(with_mean=False, with_std=False),
    P.RobustScaler(),
    P.RobustScaler(with_centering=False),
    P.RobustScaler(with_scaling=False),
    P.RobustScaler(unit_variance=True, quantile_range=(10, 90)),
    P.MinMaxScaler(),
    P.MinMaxScaler(feature_range=(-2, 3)),
    P.MaxAbsScaler(),
    D.PCA(3),
    D.PCA(3, whiten=True),
    D.TruncatedSVD(3),
    "passthrough",
]


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
@pytest.mark.parametrize(
    "end", [L.Ridge(), N.MLPRegressor(hidden_layer_sizes=(4,), max_iter=20)], ids=["linear", "mlp"]
)
def test_pipelines_are_their_steps(scaler, end):
    model = fitted(make_pipeline(scaler, P.StandardScaler(), end), REAL)
    same(computed(model), model.predict(X))


REFUSED = [
    (svm.SVC(kernel="linear"), THREE, "SVC of 3 classes has a score for each pair"),
    (svm.NuSVC(kernel="linear"), THREE, "NuSVC of 3 classes has a score for each pair"),
    (svm.SVC(), TWO, "SVC: wanted a fitted linear model"),
    (cross_decomposition.PLSRegression(), REAL, "PLSRegression: it computes something else"),
    (MultiOutputRegressor(L.Ridge()), np.stack([REAL, TWO], 1), "MultiOutputRegressor: wanted a fitted linear"),
    (make_pipeline(P.PolynomialFeatures(), L.Ridge()), REAL, "PolynomialFeatures in a pipeline: wanted"),
    (make_pipeline(P.MinMaxScaler(clip=True), L.Ridge()), REAL, "MinMaxScaler in a pipeline: wanted"),
    (make_pipeline(P.PowerTransformer(), L.Ridge()), REAL, "PowerTransformer in a pipeline: wanted"),
    (make_pipeline(D.FactorAnalysis(2), L.Ridge()), REAL, "FactorAnalysis in a pipeline: wanted"),
]


@pytest.mark.parametrize(("model", "y", "text"), REFUSED, ids=[text for *_, text in REFUSED])
def test_what_is_no_linear_model_is_refused_by_name(model, y, text):
    fitted(model, y)
    with pytest.raises(ParamsError, match=text):
        onnx_bytes(model, X)


def test_samples_of_other_features_are_refused():
    model = fitted(L.Ridge(), REAL)
    with pytest.raises(lw.LimbwiseError, match="samples of 4 features: the model was fitted on 5"):
        lw.nn.compile(model, X[:, :4])
