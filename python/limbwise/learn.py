"""Learning on encrypted data, in the manner of scikit-learn."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from limbwise import _limbwise
from limbwise._limbwise import Params
from limbwise._options import as_array, choose
from limbwise._reports import logger
from limbwise.errors import DtypeError, EncodeError, LimbwiseError, ShapeError

Clear = npt.NDArray[Any]

# Leveled presets, smallest first; beyond them the weights are bootstrapped.
_PRESETS = ("n14-l7-s40", "n15-l16-s40", "n16-l24-s40", "n16-l32-s40", "boot-words")


class NotFittedError(LimbwiseError, ValueError, AttributeError):
    """The estimator has no weights yet: call fit first."""


class LogisticRegression:
    """Logistic regression for two classes, trained on encrypted rows.

    :meth:`fit` scales and encrypts the rows, trains by Nesterov gradient descent with a polynomial in the sigmoid's place
    (the HELR method, the workload ``limbwise run logreg``), and decrypts the weights. The rows and what is computed from
    them are encrypted all the way; a server sees ciphertexts.

    Args:
        iterations: encrypted steps of gradient descent; each after the first takes 3 levels and the polynomial's depth.
        degree: of the polynomial, 3, 5 or 7.
        interval: half the width of the interval on which it fits the sigmoid.
        batch: rows of a mini-batch; all, but at most 1024, by default.
        clip: scaled features are clipped at so many deviations, which bounds what one row can do.
        preset: parameters; the smallest with enough levels by default.
        keys: ``"stored"``, or ``"seeded"`` for half the memory.
        threads: all by default.

    Attributes:
        coef_: weights of the features as given, 1 × features.
        intercept_: the bias.
        classes_: the two labels, ascending.
        n_features_in_: number of features.
        report_: what the run measured, as ``limbwise run --json``.
    """

    def __init__(
        self,
        *,
        iterations: int = 5,
        degree: int = 5,
        interval: float = 10.0,
        batch: int | None = None,
        clip: float = 2.0,
        preset: str | Params | None = None,
        keys: str = "stored",
        threads: int | None = None,
    ) -> None:
        self.iterations = iterations
        self.degree = degree
        self.interval = interval
        self.batch = batch
        self.clip = clip
        self.preset = preset
        self.keys = keys
        self.threads = threads

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor by name.

        Args:
            deep: for scikit-learn; there is nothing inside.
        """
        del deep  # there is nothing inside
        names = ("iterations", "degree", "interval", "batch", "clip", "preset", "keys", "threads")
        return {name: getattr(self, name) for name in names}

    def set_params(self, **values: Any) -> LogisticRegression:
        """Change arguments of the constructor and return the estimator.

        Args:
            values: new values by name.

        Raises:
            ValueError: no such argument.
        """
        known = self.get_params()
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"no parameter {name!r}: choose from {', '.join(known)}")
            setattr(self, name, value)
        return self

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> LogisticRegression:
        """Train on encrypted rows; ``coef_``, ``intercept_`` and ``report_`` have the result.

        Args:
            X: rows × features, finite numbers.
            y: the label of each row, of two classes; the greater is the positive one.

        Raises:
            ShapeError: labels of another number or not of two classes, features that are all constant, or impossible options.
            DtypeError, EncodeError: features that are complex, or not finite.
        """
        features = self._rows(X)
        labels = np.asarray(y)
        if labels.shape != (features.shape[0],):
            raise ShapeError(f"labels of shape {labels.shape} for {features.shape[0]} rows: give one for each")
        self.classes_ = np.unique(labels)
        if len(self.classes_) != 2:
            raise ShapeError(f"{len(self.classes_)} classes in the labels: this estimator tells two apart")
        if self.iterations < 1 or self.clip <= 0 or self.keys not in ("stored", "seeded"):
            raise ShapeError("iterations from 1, a positive clip, and keys 'stored' or 'seeded'")
        mean, deviation = features.mean(axis=0), features.std(axis=0)
        varies = deviation > 0
        if not varies.any():
            raise ShapeError("every feature is constant: there is nothing to learn from")
        scaled = np.clip((features[:, varies] - mean[varies]) / deviation[varies], -self.clip, self.clip)
        rows = np.ascontiguousarray(np.hstack([np.ones((len(scaled), 1)), scaled]))
        params = self._params()
        logger.info("training on %d encrypted rows of %d features under %s", *scaled.shape, params.name)
        text = _limbwise.train_logistic_regression(
            rows.reshape(-1),
            rows.shape[1],
            (labels == self.classes_[1]).tolist(),
            params=params,
            batch=self.batch or min(1024, len(rows)),
            iterations=self.iterations,
            degree=self.degree,
            interval=float(self.interval),
            seeded=self.keys == "seeded",
            threads=self.threads,
        )
        self.report_ = json.loads(text)
        for warning in self.report_.get("warnings", []):
            logger.warning("%s", warning)
        weights = np.asarray(self.report_["weights"])
        self._weights = weights
        self._mean, self._deviation, self._varies = mean, deviation, varies
        self.n_features_in_ = features.shape[1]
        self.coef_ = np.zeros((1, features.shape[1]))
        self.coef_[0, varies] = weights[1:] / deviation[varies]
        self.intercept_ = np.array([weights[0] - np.sum(self.coef_[0] * mean)])
        return self

    def decision_function(self, X: npt.ArrayLike) -> Clear:
        """Return the scores of rows: positive for the second class.

        Args:
            X: rows × features, as many as in :meth:`fit`.

        Raises:
            NotFittedError: :meth:`fit` comes first.
            ShapeError: another number of features.
        """
        if not hasattr(self, "_weights"):
            raise NotFittedError("this LogisticRegression has no weights yet: call fit(X, y) first")
        features = self._rows(X)
        if features.shape[1] != self.n_features_in_:
            raise ShapeError(f"rows of {features.shape[1]} features, trained on {self.n_features_in_}")
        scaled = (features[:, self._varies] - self._mean[self._varies]) / self._deviation[self._varies]
        return np.asarray(np.clip(scaled, -self.clip, self.clip) @ self._weights[1:] + self._weights[0])

    def predict_proba(self, X: npt.ArrayLike) -> Clear:
        """Return the probabilities of both classes, rows × 2.

        Args:
            X: rows × features, as many as in :meth:`fit`.

        Raises:
            NotFittedError: :meth:`fit` comes first.
            ShapeError: another number of features.
        """
        positive = 1.0 / (1.0 + np.exp(-self.decision_function(X)))
        return np.stack([1.0 - positive, positive], axis=1)

    def predict(self, X: npt.ArrayLike) -> Clear:
        """Return the more likely class of each row.

        Args:
            X: rows × features, as many as in :meth:`fit`.

        Raises:
            NotFittedError: :meth:`fit` comes first.
            ShapeError: another number of features.
        """
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(int)])

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike) -> float:
        """Return the fraction of rows predicted correctly, from 0 to 1.

        Args:
            X: rows × features, as many as in :meth:`fit`.
            y: the label of each row.

        Raises:
            NotFittedError, ShapeError: as for :meth:`predict`.
        """
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def _params(self) -> Params:
        if self.preset is not None:
            return choose(self.preset)
        needed = _limbwise.training_levels(self.iterations, self.degree)
        for name in _PRESETS:
            params = Params.preset(name)
            if params.bootstraps or params.levels >= needed:
                return params
        return params

    def _rows(self, X: npt.ArrayLike) -> Clear:
        features = as_array(X)
        if features.dtype.kind != "f":
            raise DtypeError("complex features: a logistic regression is of real ones")
        if features.ndim != 2 or features.size == 0:
            raise ShapeError(f"features of shape {features.shape}: give rows × features")
        if not np.all(np.isfinite(features)):
            row, column = np.argwhere(~np.isfinite(features))[0].tolist()
            raise EncodeError(f"feature {column} of row {row} is not finite: clean the data first")
        return features

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if value is not None)
        return f"LogisticRegression({arguments})"
