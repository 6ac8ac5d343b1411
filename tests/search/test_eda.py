"""The spec of an EDA: which settings it refuses, and how it is written."""

import re
from typing import Any

import pytest

from harmonium import ALGORITHMS, BOA, EDA, RBM, UMDA, OneMax
from harmonium.search.interleaved import InterleavedSearch
from harmonium.search.population import PopulationSearch
from harmonium.specs import SpecError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"population": 9}, "eda: population is 9; expected an even number"),
        ({"population": 7}, "eda: population is 7; expected an integer ≥ 8 and ≤ 100,000,000"),
        ({"population": -8}, "eda: population is -8; expected an integer ≥ 8"),
        ({"tournament": 1}, "eda: tournament is 1; expected an integer ≥ 2"),
        (
            {"population": 20, "tournament": 11},
            "eda: tournament is 11; expected at most half the population",
        ),
        (
            {"pairing": "friends"},
            "eda: pairing is 'friends'; expected one of any, parent-offspring",
        ),
        (
            {"replacement": "none"},
            "eda: replacement is 'none'; expected one of keep-parents, rtr, rtr-prune, worst",
        ),
        (
            {"pairing": "parent-offspring", "replacement": "rtr"},
            "eda: replacement is 'rtr'; expected keep-parents with pairing=parent-offspring",
        ),
        (
            {"pairing": "parent-offspring", "tournament": 4},
            "eda: tournament is 4; expected 2 with pairing=parent-offspring",
        ),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        EDA(UMDA(), **settings)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("model", [UMDA, OneMax(5), 5, None])
def test_an_eda_needs_a_model(model: Any) -> None:
    message = f"eda: model is {model!r}; expected a model, such as harmonium.RBM()"
    with pytest.raises(SpecError, match=re.escape(message)):
        EDA(model)


@pytest.mark.parametrize("population", [20, "auto"])
@pytest.mark.parametrize("length", [0, -3])
def test_a_search_needs_a_bit(length: int, population: Any) -> None:
    with pytest.raises(ValueError, match=f"length is {length}; expected at least 1 bit"):
        EDA(UMDA(), population).start(length, 1)


@pytest.mark.parametrize("population", [20, "auto"])
def test_a_search_needs_a_seed(population: Any) -> None:
    with pytest.raises(ValueError, match="seed is -1; expected an integer ≥ 0"):
        EDA(UMDA(), population).start(5, -1)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("rbn", "unknown model 'rbn'; known: rbm, rbm-paper, boa, umda, "),
        ("boa:parents=3", "boa: unknown field 'parents'; known: max_parents"),
        ({"name": "umd"}, "unknown model 'umd'"),
    ],
)
def test_an_unknown_model_is_named(model: Any, message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        EDA(model)


def test_a_model_may_be_written_as_text() -> None:
    assert EDA("boa:max_parents=4", population=400) == EDA(BOA(max_parents=4), population=400)


@pytest.mark.parametrize(
    ("eda", "text"),
    [
        (EDA(UMDA()), "eda:model=umda,replacement=keep-parents"),
        (EDA(RBM(), population=50), "eda:model=rbm,population=50,replacement=rtr"),
        (
            EDA(BOA(max_parents=4), population=400),
            "eda:model=(boa:max_parents=4),population=400,replacement=keep-parents",
        ),
        (
            EDA(RBM(hidden="n/2", rate=0.25), tournament=4),
            "eda:model=(rbm:hidden=n/2,rate=0.25),tournament=4,replacement=rtr",
        ),
    ],
)
def test_an_eda_is_written_with_its_model_and_read_back(eda: EDA, text: str) -> None:
    assert str(eda) == text
    assert ALGORITHMS.parse(text) == eda
    assert ALGORITHMS.from_dict(eda.to_dict()) == eda


def test_the_label_is_the_model() -> None:
    assert EDA(BOA(max_parents=4), population=50).label == "boa:max_parents=4"


def test_another_population_keeps_all_else() -> None:
    eda = EDA(BOA(max_parents=4), population=50, tournament=3, replacement="worst")
    expected = EDA(BOA(max_parents=4), population=80, tournament=3, replacement="worst")
    assert eda.with_population(80) == expected
    with pytest.raises(SpecError, match="population is 81; expected an even number"):
        eda.with_population(81)


def test_without_a_population_size_populations_are_interleaved() -> None:
    assert isinstance(EDA(UMDA()).start(5, 1), InterleavedSearch)
    assert isinstance(EDA(UMDA(), population=20).start(5, 1), PopulationSearch)
    assert EDA(UMDA()).endless
    assert not EDA(UMDA(), population=20).endless
