"""Models of the user's own, by the path of their class."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import harmonium as hm
from harmonium.importing import importable
from harmonium.models import MODELS
from harmonium.specs import SpecError, to_dict
from harmonium.studies.trial import Trial, execute, read_record

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
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "my_models.py").write_text(SOURCE, encoding="utf-8")
    with importable(tmp_path):
        yield tmp_path


@pytest.mark.usefixtures("folder")
def test_a_path_makes_a_model_and_the_model_tells_its_path() -> None:
    for text in ("my_models:PBIL", "my_models:PBIL:rate=0.5"):
        model = MODELS.parse(text)
        assert str(model) == text
        assert MODELS.from_dict(to_dict(model)) == model


def test_a_model_of_the_users_own_is_run_like_any_other(folder: Path) -> None:
    eda = hm.EDA(MODELS.parse("my_models:PBIL:rate=0.5"), population=100)
    trial = Trial(hm.OneMax(length=20), eda, hm.Stop(), seed=1)
    record = read_record(execute(trial.spec, str(folder)))
    assert (record.status, record.result["model"]) == ("done", "my_models:PBIL:rate=0.5")
    assert record.result["solved"]


def test_a_changed_module_makes_another_trial_and_is_refused_for_the_old(folder: Path) -> None:
    def make() -> Trial:
        eda = hm.EDA(MODELS.parse("my_models:PBIL"), population=100)
        return Trial(hm.OneMax(length=20), eda, hm.Stop(), seed=1)

    before = make()
    assert make().key == before.key
    (folder / "my_models.py").write_text(SOURCE + "\n# changed\n", encoding="utf-8")
    assert make().key != before.key
    record = read_record(execute(before.spec, str(folder)))
    assert record.status == "failed"
    assert "its module here differs from the one it was made with" in record.error


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("my_models:no_model", "my_models:no_model: is no model; expected a subclass of harmonium"),
        ("my_models:np", "my_models:np: my_models has no function or class 'np'"),
        ("my_models:PBIL:speed=1", "my_models:PBIL: unknown field 'speed'"),
        ("my_models:PBIL:rate=fast", "my_models:PBIL: rate is 'fast'; expected a number"),
        ("nowhere:PBIL", "nowhere:PBIL: there is no module 'nowhere'"),
        ("rbn", "unknown model 'rbn'; known: rbm, "),
    ],
)
def test_what_is_no_model_is_told(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        MODELS.parse(text)
    assert str(caught.value).startswith(message)


def test_a_model_without_a_name_is_called_after_its_class() -> None:
    class Plain(hm.UMDA):
        pass

    result = hm.run(hm.OneMax(length=10), hm.EDA(Plain(), population=50), seed=1)
    assert result.model == "plain"
