"""What models learn of a problem's structure, from one model of a run to the next.

Any fitted model that offers `interactions()` or `weights()` is scored, also custom ones. `Learning`
follows a run; `Learned` is what a store keeps of it and a report shows.
"""

import math
from collections import Counter
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from harmonium.models import Interactions, read_interactions, read_weights
from harmonium.problems import Blocks, Problem, name_problem, read_structure
from harmonium.runs import Runner

MAX_MAP_LENGTH: Final = 100
"""Bits up to which a map of pairs or weights is readable."""

CAPTURED: Final = 0.5
"""Share of a unit's squared weights on a block from which on the unit captures it."""

Matrix = NDArray[np.float64]
Pair = tuple[int, int, float]
"""Two bits and the strength of their interaction; in a directed model, parent and child."""


class Score(NamedTuple):
    """What one model has learned, compared with the structure of the problem."""

    population: int | None
    """Size of the population that the model was built from."""
    generation: int | None
    """Generation of that population; none for algorithms without generations."""
    evaluations: int
    pairs: int | None
    """Number of learned pairs; none if the model does not offer `interactions()`."""
    precision: float | None
    """Share of the learned pairs that are true; none if nothing is learned."""
    recall: float | None
    """Share of the true pairs that are learned."""
    captured: float | None
    """Share of the hidden units that capture a block; none for models without `weights()`."""


class Pairs(msgspec.Struct, frozen=True):
    """The pairs of the last model, by whether they are learned and true."""

    unit: str
    """What a strength is, in words."""
    threshold: float
    """Strength from which a pair counts as learned."""
    directed: bool
    right: list[Pair]
    """Learned and true."""
    missed: list[Pair]
    """True, not learned."""
    wrong: list[Pair]
    """Learned, not true."""


class Units(msgspec.Struct, frozen=True):
    """The hidden units of the last model, and how far they capture the blocks of a problem.

    A unit captures a block when most of the sum of its squared weights is on the block's bits.
    """

    weights: list[list[float]]
    """Sizes of the weights, bits by units; the units are ordered by the block they respond to."""
    captured: float
    """Share of the units that capture a block."""
    chance: float
    """The share that would capture a block if the bits of each unit were shuffled."""
    blocks_captured: int
    """Number of blocks that at least one unit captures."""
    blocks: int


class Learned(msgspec.Struct, frozen=True):
    """What the models of one run learned: plain data, which a store keeps as JSON."""

    problem: str
    length: int
    density: float
    """Share of true pairs among all: the precision that chance would give."""
    population: int | None
    """Size of the population that is shown: of interleaved ones, the one that found the best."""
    interleaved: bool
    scores: list[Score]
    """Of that population, one for each of its models."""
    pairs: Pairs | None
    units: Units | None

    @property
    def last(self) -> Score:
        """The score of the last model."""
        return self.scores[-1]


class Learning:
    """Follows a run and scores what its models have learned: a `callback` of `harmonium.run`.

    Models that offer neither `interactions()` nor `weights()` are ignored, and so are all models
    if the problem has no structure.

    Parameters
    ----------
    problem : Problem
        The problem that is solved; its `structure` names the bits that interact.

    Examples
    --------
    >>> import harmonium as hm
    >>> from harmonium.reports import Learning
    >>> problem = hm.Trap(length=20, order=5)
    >>> learning = Learning(problem)
    >>> result = hm.run(problem, hm.EDA("boa", population=400), seed=1, callback=learning)
    >>> len(learning.scores) == result.generations
    True
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.structure = read_structure(problem) or ()
        self.truth = mark_pairs(self.structure, problem.length)
        self.scores: list[Score] = []
        """Of all populations."""
        self.population: int | None = None
        """Size of the population that is shown."""
        self.interactions: Interactions | None = None
        """Of its last model; so are the weights."""
        self.weights: Matrix | None = None
        self._steps: Counter[int | None] = Counter()
        self._last: object = None

    def __call__(self, runner: Runner) -> bool:
        """Score the model of a step if it is new; never end the run."""
        status, fitted = runner.search.status(), runner.search.fitted
        generation = status.generation
        self._steps[status.population] += 1
        if generation is not None and self.interleaved:  # each population counts its own
            generation = self._steps[status.population] - 1
        if self.structure and fitted is not None and fitted is not self._last:
            self._last = fitted
            where = (status.population, generation, runner.record.evaluations)
            self._score(fitted, where, runner.record.best_found_by)
        return False

    @property
    def interleaved(self) -> bool:
        """Whether the run had interleaved populations."""
        return len(self._steps) > 1

    @property
    def learned(self) -> Learned | None:
        """What was learned so far; none if no model could be scored."""
        if not self.scores:
            return None
        return Learned(
            problem=name_problem(self.problem),
            length=self.problem.length,
            density=_find_density(self.truth),
            population=self.population,
            interleaved=self.interleaved,
            scores=[score for score in self.scores if score.population == self.population],
            pairs=None if self.interactions is None else _sort_pairs(self.interactions, self.truth),
            units=None if self.weights is None else find_units(self.weights, self.structure),
        )

    def _score(
        self, fitted: object, where: tuple[int | None, int | None, int], finder: int | None
    ) -> None:
        length = len(self.truth)
        interactions = _check_interactions(read_interactions(fitted), length)
        weights = _check_weights(read_weights(fitted), length)
        if interactions is None and weights is None:
            return
        pairs, precision, recall, captured = None, None, None, None
        if interactions is not None:
            learned = interactions.pairs & ~np.eye(length, dtype=np.bool_)
            right, count = int((learned & self.truth).sum()), int(learned.sum())
            pairs = count // 2
            precision = right / count if count else None
            recall = right / max(1, int(self.truth.sum()))
        if weights is not None:
            captured = float(_find_captured(weights, self.structure).any(axis=0).mean())
        self.scores.append(Score(*where, pairs, precision, recall, captured))
        population = where[0]
        if len(self.scores) == 1 or population == self.population or finder in (population, None):
            self.population, self.interactions, self.weights = population, interactions, weights


def why_not_scorable(problem: Problem) -> str:
    """Return why learned pairs of a problem cannot be scored; empty if they can."""
    structure = read_structure(problem)
    if structure is None:
        return "the problem does not state which of its bits interact (`structure`)"
    try:
        density = _find_density(mark_pairs(structure, problem.length))
    except ValueError as error:
        return str(error)
    if density == 0:
        return "each bit counts alone, so there are no true pairs to find"
    if density < 1:
        return ""
    whole = any(len(group) == problem.length for group in structure)
    return (
        f"any two bits share a block{' (the whole string is one)' if whole else ''}, so every pair "
        "that a model learns would be right, by chance too"
    )


def mark_pairs(structure: Blocks, length: int) -> NDArray[np.bool_]:
    """Return which pairs of bits share a group: (length, length), symmetric.

    Raises
    ------
    ValueError
        If a group names a bit that does not exist.
    """
    marked = np.zeros((length, length), dtype=np.bool_)
    for group in structure:
        for bit in group:
            if not 0 <= bit < length:
                raise ValueError(
                    f"problem.structure names bit {bit}; expected bits from 0 to {length - 1}"
                )
        marked[np.ix_(group, group)] = True
    np.fill_diagonal(marked, False)
    return marked


def find_units(weights: Matrix, structure: Blocks) -> Units:
    """Return how far the hidden units of a model capture the blocks of a problem."""
    shares = _share_blocks(weights, structure)
    captured = shares > CAPTURED
    rng = np.random.default_rng(0)
    shuffled = [_find_captured(rng.permuted(weights, axis=0), structure) for _ in range(20)]
    order = np.lexsort((-shares.max(axis=0), shares.argmax(axis=0)))
    strongest = float(weights.max()) or 1.0
    digits = 3 - math.ceil(math.log10(strongest))
    return Units(
        weights=weights[:, order].round(digits).tolist(),
        captured=float(captured.any(axis=0).mean()),
        chance=float(np.mean([draw.any(axis=0) for draw in shuffled])),
        blocks_captured=int(captured.any(axis=1).sum()),
        blocks=len(structure),
    )


def _sort_pairs(interactions: Interactions, truth: NDArray[np.bool_]) -> Pairs:
    strengths, directed = interactions.strengths, interactions.directed
    marked = strengths >= interactions.threshold if directed else interactions.pairs
    learned = marked & ~np.eye(len(truth), dtype=np.bool_)

    def list_pairs(cells: NDArray[np.bool_]) -> list[Pair]:
        return [(int(a), int(b), round(float(strengths[a, b]), 2)) for a, b in np.argwhere(cells)]

    return Pairs(
        unit=interactions.unit,
        threshold=float(interactions.threshold),
        directed=directed,
        right=list_pairs(learned & truth),
        missed=list_pairs(truth & ~learned),
        wrong=list_pairs(learned & ~truth),
    )


def _find_density(truth: NDArray[np.bool_]) -> float:
    return float(truth.sum() / max(1, truth.size - len(truth)))


def _share_blocks(weights: Matrix, structure: Blocks) -> Matrix:
    """Return the share of each unit's squared weights on each block: (blocks, hidden)."""
    squared = weights**2
    total = squared.sum(axis=0)
    on_blocks = np.stack([squared[list(group)].sum(axis=0) for group in structure])
    shares: Matrix = on_blocks / np.where(total > 0, total, np.inf)
    return shares


def _find_captured(weights: Matrix, structure: Blocks) -> NDArray[np.bool_]:
    """Return which unit captures which block: (blocks, hidden)."""
    return _share_blocks(weights, structure) > CAPTURED


def _check_interactions(interactions: Interactions | None, length: int) -> Interactions | None:
    """Return the interactions of a model, or raise for what a custom model may do wrong."""
    if interactions is None:
        return None
    shape = np.shape(interactions.strengths)
    if shape != (length, length) or not np.isfinite(interactions.strengths).all():
        raise ValueError(
            f"the model's interactions() have strengths of shape {shape}; expected finite numbers "
            f"of shape {(length, length)}"
        )
    return interactions


def _check_weights(weights: Matrix | None, length: int) -> Matrix | None:
    """Return the sizes of the weights of a model, or raise for what a custom model may do wrong."""
    if weights is None:
        return None
    matrix = np.abs(np.asarray(weights, dtype=np.float64))
    whole = matrix.ndim == 2 and len(matrix) == length and matrix.size > 0
    if not whole or not np.isfinite(matrix).all():
        raise ValueError(
            f"the model's weights() have the shape {matrix.shape}; expected finite numbers of "
            f"shape ({length}, hidden units)"
        )
    return matrix
