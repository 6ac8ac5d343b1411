"""The incremental algorithm; the contract tests cover what every algorithm must do."""

import numpy as np
import pytest

from harmonium import EDA, PBIL, Incremental, OneMax, PaperTree, Trap, Tree, run
from harmonium.specs import SpecError


def test_the_model_learns_from_the_best_rows_alone() -> None:
    """With a rate of 1 the frequencies are those of the two best rows, seen through the mask."""
    search = Incremental("pbil:rate=1.0", population=10, best=2).start(6, seed=1)
    bits = search.ask()
    fitness = np.array([3, 9, 1, 4, 8, 0, 2, 5, 6, 7], dtype=float)
    search.tell(bits, fitness)
    assert search.status().mean == 4.5
    search.ask()
    fitted = search.fitted
    assert fitted is not None
    expected = (bits[[1, 4]] ^ search.mask).mean(axis=0)
    np.testing.assert_allclose(
        fitted.sample(2000, np.random.default_rng(1)).mean(axis=0), expected, atol=0.05
    )


def test_rows_of_earlier_generations_are_forgotten() -> None:
    search = Incremental("pbil:rate=1.0", population=10, best=1).start(6, seed=1)
    for step in range(3):
        bits = search.ask()
        search.tell(bits, 100.0 - 10 * step + bits.sum(axis=1))
        assert search.generation == step  # models built; the first rows are random
    last = bits[bits.sum(axis=1).argmax()]
    np.testing.assert_array_equal(search.ask(), np.tile(last, (10, 1)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"best": 11}, "best is 11; expected at most population=10"),
        ({"best": 0}, "best"),
        ({"population": 1}, "population"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Incremental(PBIL(), **{"population": 10, **settings})


def test_a_model_may_be_text() -> None:
    assert Incremental("pbil:rate=0.2", 40) == Incremental(PBIL(rate=0.2), population=40)
    with pytest.raises(SpecError, match="model is 5; expected a model"):
        Incremental(5)  # type: ignore[arg-type]


def test_the_papers_tree_is_an_incremental_tree() -> None:
    assert PaperTree().model == Tree(decay=0.99, prior=1000.0)
    assert PaperTree().with_population(64).population == 64
    assert not isinstance(PaperTree(), EDA)


@pytest.mark.parametrize(("problem", "population"), [(OneMax(40), 8), (Trap(40, 4), 40)], ids=str)
def test_the_papers_tree_solves_what_it_solves_in_the_paper(
    problem: OneMax | Trap, population: int
) -> None:
    results = [run(problem, PaperTree(population=population), seed=seed) for seed in (1, 2)]
    assert all(result.solved for result in results)
