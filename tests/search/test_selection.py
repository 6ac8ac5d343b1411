import numpy as np
import pytest

from harmonium.arrays import Fitness
from harmonium.search import selection
from harmonium.search.selection import Indices, select, select_pairs

SIZES = [(8, 2), (100, 2), (12, 3), (10, 3), (100, 4), (10, 5), (50, 7)]


def random_fitness(size: int, seed: int = 0) -> Fitness:
    return np.random.default_rng(seed).random(size)


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[Indices]:
    """Return the tournaments of each round, as they are drawn."""
    drawn: list[Indices] = []
    draw = selection._draw_round

    def record(population: int, tournament: int, rng: np.random.Generator) -> Indices:
        drawn.append(draw(population, tournament, rng))
        return drawn[-1]

    monkeypatch.setattr(selection, "_draw_round", record)
    return drawn


@pytest.mark.parametrize(("size", "tournament"), SIZES)
def test_half_the_population_wins(size: int, tournament: int) -> None:
    winners = select(random_fitness(size), tournament, np.random.default_rng(1))
    assert winners.shape == (size // 2,)
    assert set(winners.tolist()) <= set(range(size))


@pytest.mark.parametrize(("size", "tournament"), SIZES)
def test_everyone_fights_once_a_round(size: int, tournament: int, rounds: list[Indices]) -> None:
    select(random_fitness(size), tournament, np.random.default_rng(1))
    for tournaments in rounds:
        fighters = tournaments.ravel().tolist()
        assert tournaments.shape == (size // tournament, tournament)
        assert len(set(fighters)) == len(fighters) == size - size % tournament
        assert set(fighters) <= set(range(size))


@pytest.mark.parametrize(("size", "tournament"), SIZES)
def test_there_are_just_enough_rounds(size: int, tournament: int, rounds: list[Indices]) -> None:
    select(random_fitness(size), tournament, np.random.default_rng(1))
    winners_a_round = size // tournament
    assert (len(rounds) - 1) * winners_a_round < size // 2 <= len(rounds) * winners_a_round


@pytest.mark.parametrize(("size", "tournament"), SIZES)
def test_the_fittest_of_each_tournament_wins(
    size: int, tournament: int, rounds: list[Indices]
) -> None:
    fitness = random_fitness(size)
    winners = select(fitness, tournament, np.random.default_rng(1))
    expected = [
        max(members, key=lambda member: fitness[member])
        for tournaments in rounds
        for members in tournaments.tolist()
    ]
    assert winners.tolist() == expected[: size // 2]


def test_in_one_round_of_pairs_the_best_wins_once_and_the_worst_never() -> None:
    for seed in range(20):
        winners = select(np.arange(100.0), 2, np.random.default_rng(seed)).tolist()
        assert winners.count(99) == 1
        assert winners.count(0) == 0
        assert len(set(winners)) == 50


def test_in_two_rounds_of_fours_the_best_wins_twice_and_the_worst_three_never() -> None:
    for seed in range(20):
        winners = select(np.arange(100.0), 4, np.random.default_rng(seed)).tolist()
        assert winners.count(99) == 2
        assert not {0, 1, 2} & set(winners)


def test_rounds_are_drawn_anew(rounds: list[Indices]) -> None:
    select(random_fitness(100), 4, np.random.default_rng(1))
    first, second = rounds
    assert first.tolist() != second.tolist()


@pytest.mark.parametrize("size", [8, 100, 1000])
def test_pairs_are_one_parent_and_one_offspring(size: int) -> None:
    half = size // 2
    parents_win = np.repeat([1.0, 0.0], half)
    winners = select_pairs(parents_win, np.random.default_rng(1))
    assert sorted(winners.tolist()) == list(range(half))
    winners = select_pairs(-parents_win, np.random.default_rng(1))
    assert sorted(winners.tolist()) == list(range(half, size))


def test_each_parent_meets_another_offspring_and_the_fitter_wins() -> None:
    # Parent i has fitness 2i + 1, offspring i has 2i. So offspring 0 never wins, parent 99 always.
    fitness = np.concatenate([np.arange(1.0, 200, 2), np.arange(0.0, 200, 2)])
    met = set()
    for seed in range(20):
        winners = select_pairs(fitness, np.random.default_rng(seed))
        losers = sorted(set(range(200)) - set(winners.tolist()))
        assert winners.shape == (100,)
        assert len(losers) == 100
        assert 100 in losers
        assert 99 in winners
        # The pairs are matched row by row: winner i is parent i, or the offspring that beat it.
        beaten = [row for row, winner in enumerate(winners.tolist()) if winner != row]
        assert all(winner >= 100 for winner in winners[beaten].tolist())
        assert all(fitness[winners[row]] > fitness[row] for row in beaten)
        met.add(tuple(beaten))
    assert len(met) == 20


@pytest.mark.parametrize("pairs", [False, True])
def test_ties_go_to_either_one(pairs: bool) -> None:
    # Of 1000 fair coins, 400 to 600 show heads but for 2 in 10^10.
    equal = np.zeros(2000)
    rng = np.random.default_rng(1)
    winners = select_pairs(equal, rng) if pairs else select(equal, 2, rng)
    assert 400 < np.count_nonzero(winners < 1000) < 600
    assert len(set(winners.tolist())) == 1000


def test_selection_depends_on_the_generator_alone() -> None:
    fitness = random_fitness(50)
    one, again, other = (select(fitness, 2, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one.tolist() == again.tolist()
    assert one.tolist() != other.tolist()
