"""The feature selector for scikit-learn."""

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from harmonium.interop.sklearn import FeatureSelector


@pytest.fixture(scope="module")
def data() -> Any:
    return make_classification(
        80, 6, n_informative=2, n_redundant=0, shuffle=False, class_sep=1.5, random_state=1
    )


def make(**options: Any) -> FeatureSelector:
    return FeatureSelector(LogisticRegression(), cv=3, random_state=1, **options)


def test_the_best_features_are_chosen(data: Any) -> None:
    X, y = data
    selector = make(n_features=2).fit(X, y)
    scores = {
        pair: cross_val_score(LogisticRegression(), X[:, pair], y, cv=3).mean()
        for pair in combinations(range(6), 2)
    }
    assert selector.score_ == pytest.approx(max(scores.values()))
    assert scores[tuple(selector.get_support(indices=True))] == selector.score_
    assert selector.transform(X).shape == (80, 2)


def test_bounds_scoring_and_jobs(data: Any) -> None:
    X, y = data
    selector = make(n_features=(2, 3), scoring="roc_auc", n_jobs=1, max_calls=20).fit(X, y)
    assert 2 <= selector.support_.sum() <= 3
    assert selector.result_.calls <= 20
    chosen = X[:, selector.support_]
    expected = cross_val_score(LogisticRegression(), chosen, y, cv=3, scoring="roc_auc").mean()
    assert selector.score_ == pytest.approx(expected)


def test_it_works_in_a_pipeline_and_a_grid(data: Any) -> None:
    X, y = data
    pipeline = make_pipeline(make(max_calls=5), LogisticRegression())
    grid = GridSearchCV(pipeline, {"featureselector__n_features": [1, 2]}, cv=2).fit(X, y)
    chosen = grid.best_estimator_.named_steps["featureselector"]
    assert chosen.support_.sum() == grid.best_params_["featureselector__n_features"]
    assert grid.predict(X).shape == (80,)
    assert set(np.unique(grid.predict(X))) <= {0, 1}


def test_it_passes_the_checks_of_scikit_learn() -> None:
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            FeatureSelector(tree, cv=2, max_calls=4, random_state=0), on_fail=None
        )
    wrong = [one for one in results if one["status"] not in ("passed", "skipped")]
    assert wrong == []
    assert len(results) > 40
