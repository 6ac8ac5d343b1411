"""Custom models, by the path of their class."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import harmonium as hm
from harmonium.models import MODELS
from harmonium.specs import SpecError, importable
from tests.modules import write_module

SOURCE = """
from dataclasses import dataclass

import numpy as np

import harmonium as hm


@dataclass(frozen=True)
class PBIL(hm.Model):
    rate: float = 0.3

    def fit(self, parents, rng, previous=None):
        before = np.full(parents.shape[1], 0.5) if previous is None else previous.frequencies
        return Fitted(before + self.rate * (parents.mean(axis=0) - before))


@dataclass(frozen=True)
class Fitted:
    frequencies: np.ndarray
    facts = {}

    def sample(self, count, rng):
        return (rng.random((count, self.frequencies.size)) < self.frequencies).astype(np.uint8)


def no_model():
    pass
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[str]:
    """Return the name of a module that can be imported."""
    with importable(tmp_path):
        yield write_module(tmp_path, SOURCE)


def test_a_path_makes_a_model_and_the_model_is_written_as_its_path(module: str) -> None:
    for text in (f"{module}:PBIL", f"{module}:PBIL:rate=0.5"):
        model = MODELS.parse(text)
        assert str(model) == text
        assert MODELS.from_dict(model.to_dict()) == model


def test_a_custom_model_is_run_like_any_other(module: str) -> None:
    text = f"{module}:PBIL:rate=0.5"
    result = hm.run(hm.OneMax(length=20), hm.EDA(text, population=100), seed=1)
    assert (result.label, result.solved) == (text, True)
    assert result.algorithm == f"eda:model=({text}),population=100,replacement=keep-parents"
    assert hm.maximize(sum, 20, model=text, seed=1, target=20).success


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MODULE:no_model", "MODULE:no_model: is not a model; expected a subclass of harmonium.M"),
        ("MODULE:Fitted", "MODULE:Fitted: is not a model; expected a subclass of harmonium.Model"),
        ("MODULE:np", "MODULE:np: MODULE has no function or class 'np'"),
        ("MODULE:PBIL:speed=1", "MODULE:PBIL: unknown field 'speed'; known: rate"),
        ("MODULE:PBIL:rate=fast", "MODULE:PBIL: rate is 'fast'; expected a number"),
        ("nowhere:PBIL", "nowhere:PBIL: there is no module 'nowhere'"),
        ("rbn", "unknown model 'rbn'; known: rbm, "),
    ],
)
def test_what_is_not_a_model_is_refused(module: str, text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        MODELS.parse(text.replace("MODULE", module))
    assert str(caught.value).startswith(message.replace("MODULE", module))


def test_a_class_inside_a_function_runs_but_is_not_saved(tmp_path: Path) -> None:
    class Plain(hm.UMDA):
        pass

    eda = hm.EDA(Plain(), population=50)
    result = hm.run(hm.OneMax(length=10), eda, seed=1)
    assert result.solved
    assert result.label.endswith(".<locals>.Plain")
    with pytest.raises(SpecError, match="is of a class that cannot be imported again"):
        hm.maximize(sum, 10, algorithm=eda, seed=1, checkpoint=tmp_path / "run.ckpt")
