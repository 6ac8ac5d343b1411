"""Feature selection for scikit-learn."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import cross_val_score
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from harmonium.optimize import maximize
from harmonium.space import SubsetSize


class FeatureSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Chooses the features with which an estimator has the best score in cross-validation.

    Parameters
    ----------
    estimator : estimator
        What is trained on the features.
    n_features : int or pair of int, optional
        How many features to choose, or the fewest and the most; by default any number.
    scoring : str or callable, optional
        Score of the estimator, which is maximised; by default its own.
    cv : int, splitter or iterable
        Folds of the cross-validation.
    n_jobs : int, optional
        Folds that are evaluated in parallel.
    max_calls : int
        Cross-validations, at most.
    random_state : int, RandomState or None
        Seed of the search.

    Attributes
    ----------
    support_ : array of bool
        Which features were chosen.
    score_ : float
        Mean score in cross-validation with them; optimistic, since it is the best of many.
    result_ : Result
        The search.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from harmonium.interop.sklearn import FeatureSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = FeatureSelector(LogisticRegression(max_iter=500), n_features=2, random_state=1)
    >>> selector.fit(X, y).get_support().tolist()
    [False, False, True, True]
    """

    def __init__(
        self,
        estimator: Any,
        *,
        n_features: SubsetSize | None = None,
        scoring: Any = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        max_calls: int = 200,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_features = n_features
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs
        self.max_calls = max_calls
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> "FeatureSelector":  # noqa: N803
        """Choose features.

        Parameters
        ----------
        X : array-like of shape (samples, features)
            Training data.
        y : array-like of shape (samples,)
            Targets.

        Returns
        -------
        FeatureSelector
        """
        tags = get_tags(self.estimator).input_tags
        data = validate_data(
            self,
            X,
            y,
            accept_sparse="csr" if tags.sparse else False,
            ensure_all_finite="allow-nan" if tags.allow_nan else True,
            **({} if y is None else {"multi_output": True}),
        )
        table, target = (data, None) if y is None else data

        def score(row: NDArray[np.int64]) -> float:
            chosen = table[:, np.flatnonzero(row)]
            scores = cross_val_score(
                clone(self.estimator),
                chosen,
                target,
                scoring=self.scoring,
                cv=self.cv,
                n_jobs=self.n_jobs,
            )
            return float(scores.mean())

        length = table.shape[1]
        self.result_ = maximize(
            score,
            length,
            subset_size=(1, length) if self.n_features is None else self.n_features,
            max_calls=self.max_calls,
            seed=int(check_random_state(self.random_state).randint(2**31)),
            progress=False,
        )
        self.support_ = self.result_.x.astype(bool)
        self.score_ = self.result_.fun
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        support: NDArray[np.bool_] = self.support_
        return support

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.target_tags.required = inner.target_tags.required
        return tags
