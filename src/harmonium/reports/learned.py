"""What models learn of a problem's structure, from one model of a run to the next.

Any fitted model that offers `interactions()` or `weights()` is scored, also custom ones.
"""

import math
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harmonium.models import Interactions, read_interactions, read_weights
from harmonium.problems import Blocks, Problem, name_problem, read_structure
from harmonium.reports.titles import title_problem, title_runs
from harmonium.runs import Runner

MAX_STEPS_WITHOUT_MODEL: Final = 10_000
"""A run that is repeated to look at its models ends if it has built none after so many steps."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """The hidden units of a model, and how far they capture the blocks of a problem.

    A unit captures a block when most of the sum of its squared weights is on the block's bits.
    """

    weights: Matrix
    """Sizes of the weights: (length, hidden)."""
    structure: Blocks

    @cached_property
    def shares(self) -> Matrix:
        """The share of each unit's squared weights on each block: (blocks, hidden)."""
        return _share_blocks(self.weights, self.structure)

    @property
    def captured(self) -> float:
        """Share of the units that capture a block."""
        return float((self.shares.max(axis=0) > 0.5).mean())

    @property
    def blocks(self) -> int:
        """Number of blocks that at least one unit captures."""
        return int((self.shares.max(axis=1, initial=0.0, where=self.shares > 0.5) > 0).sum())

    @cached_property
    def chance(self) -> float:
        """The share of units that would capture a block if the bits of each were shuffled."""
        rng = np.random.default_rng(0)
        draws = [
            _share_blocks(rng.permuted(self.weights, axis=0), self.structure) for _ in range(20)
        ]
        return float(np.mean([shares.max(axis=0) > 0.5 for shares in draws]))

    @property
    def ordered(self) -> Matrix:
        """The weights with units ordered by the block they respond to most: (length, hidden)."""
        order = np.lexsort((-self.shares.max(axis=0), self.shares.argmax(axis=0)))
        return self.weights[:, order]


@dataclass(frozen=True)
class Score:
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


@dataclass
class Learning:
    """Follows a run and scores what its models have learned: a `callback` of `harmonium.run`.

    Models that offer neither `interactions()` nor `weights()` are ignored, and so are all models
    if the problem has no structure.

    Parameters
    ----------
    problem : Problem
        The problem that is solved; its `structure` names the bits that interact.
    deadline : float
        Value of `time.process_time` at which the run ends; by default never.

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

    problem: Problem
    deadline: float = math.inf
    scores: list[Score] = field(default_factory=list)
    population: int | None = None
    """Size of the population that is shown: of interleaved ones, the one that found the best."""
    interactions: Interactions | None = None
    """Of its last model."""
    units: Units | None = None
    """Of its last model."""

    def __post_init__(self) -> None:
        self.structure = read_structure(self.problem) or ()
        self.truth = mark_pairs(self.structure, self.problem.length)
        self._steps: Counter[int | None] = Counter()
        self._last: object = None
        self._seen = 0
        """Number of models so far, scored or not."""

    def __call__(self, runner: Runner) -> bool:
        """Score the model of a step if it is new; return whether the run should end."""
        status, fitted = runner.search.status(), runner.search.fitted
        generation = status.generation
        self._steps[status.population] += 1
        if generation is not None and self.interleaved:  # each population counts its own
            generation = self._steps[status.population] - 1
        if fitted is not None and fitted is not self._last:
            self._last, self._seen = fitted, self._seen + 1
            finder = runner.tally.best_found_by
            if self.structure:
                self._score(
                    fitted,
                    (status.population, generation, runner.tally.evaluations),
                    shown=finder in (status.population, None),
                )
        return time.process_time() > self.deadline or self._is_hopeless()

    @property
    def course(self) -> list[Score]:
        """The scores of the population that is shown."""
        return [score for score in self.scores if score.population == self.population]

    @property
    def last(self) -> Score:
        """The last of them."""
        return self.course[-1]

    @property
    def density(self) -> float:
        """Share of true pairs among all: the precision that chance would give."""
        return float(self.truth.sum() / max(1, self.truth.size - len(self.truth)))

    @property
    def interleaved(self) -> bool:
        """Whether the run had interleaved populations."""
        return len(self._steps) > 1

    def _is_hopeless(self) -> bool:
        """Whether a run that is only repeated for its models has none that can be scored."""
        if self.deadline == math.inf or self.scores:
            return False
        return self._seen > 0 or self._steps.total() >= MAX_STEPS_WITHOUT_MODEL

    def _score(
        self, fitted: object, where: tuple[int | None, int | None, int], *, shown: bool
    ) -> None:
        length = len(self.truth)
        interactions = _check_interactions(read_interactions(fitted), length)
        weights = _check_weights(read_weights(fitted), length)
        if interactions is None and weights is None:
            return
        units = None if weights is None else Units(np.abs(weights), self.structure)
        pairs, precision, recall = None, None, None
        if interactions is not None:
            learned = interactions.pairs & ~np.eye(length, dtype=np.bool_)
            right, count = int((learned & self.truth).sum()), int(learned.sum())
            pairs = count // 2
            precision = right / count if count else None
            recall = right / max(1, int(self.truth.sum()))
        captured = units.captured if units else None
        self.scores.append(Score(*where, pairs, precision, recall, captured))
        first = len(self.scores) == 1
        if shown or first or where[0] == self.population:
            self.population, self.interactions, self.units = where[0], interactions, units


@dataclass(frozen=True)
class Learned:
    """What the models of one run learned, and which run it was."""

    problem: str
    """As titles have it: "trap:order=5, n = 60"."""
    algorithm: str
    """Name by which the run is coloured and hidden."""
    learning: Learning
    run: str = ""
    """Which run of the algorithm it was, if there are several: "seed 2"."""
    seed: int | None = None

    @property
    def title(self) -> str:
        """The problem in words: "5-traps, n = 60"."""
        return title_problem(name_problem(self.learning.problem))

    @property
    def series(self) -> str:
        """Algorithm, population and seed: "rbm, population 240, seed 1"."""
        return title_runs(self.algorithm, [self.learning.population], [self.seed])

    @property
    def label(self) -> str:
        """Algorithm and run."""
        return f"{self.algorithm}, {self.run}" if self.run else self.algorithm

    @property
    def name(self) -> str:
        """Problem, algorithm and run."""
        return f"{self.problem}: {self.label}"


def why_not_scorable(problem: Problem) -> str:
    """Return why learned pairs of a problem cannot be scored; empty if they can."""
    structure = read_structure(problem)
    if structure is None:
        return "the problem does not state which of its bits interact (`structure`)"
    try:
        density = Learning(problem).density
    except ValueError as error:
        return str(error)
    if density == 0:
        return "each bit counts alone, so there are no true pairs to find"
    if density < 1:
        return ""
    whole = any(len(group) == problem.length for group in structure)
    why = " (the whole string is one)" if whole else ""
    return (
        f"any two bits share a block{why}, so every pair that a model learns would be right, by "
        "chance too"
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
        wrong = [bit for bit in group if not 0 <= bit < length]
        if wrong:
            raise ValueError(
                f"problem.structure names bit {wrong[0]}; expected bits from 0 to {length - 1}"
            )
        for one, other in combinations(group, 2):
            marked[one, other] = marked[other, one] = one != other
    return marked


def _share_blocks(weights: Matrix, structure: Blocks) -> Matrix:
    """Return the share of each unit's squared weights on each block: (blocks, hidden)."""
    squared = weights**2
    total = squared.sum(axis=0)
    on_blocks = np.stack([squared[list(group)].sum(axis=0) for group in structure])
    shares: Matrix = on_blocks / np.where(total > 0, total, np.inf)
    return shares


def _check_interactions(interactions: Interactions | None, length: int) -> Interactions | None:
    """Return the interactions of a model, or raise for what a custom model may do wrong."""
    if interactions is not None:
        shape = np.shape(interactions.strengths)
        if shape != (length, length) or not np.isfinite(interactions.strengths).all():
            raise ValueError(
                f"the model's interactions() have strengths of shape {shape}; expected finite "
                f"numbers of shape {(length, length)}"
            )
    return interactions


def _check_weights(weights: Matrix | None, length: int) -> Matrix | None:
    """Return the weights of a model, or raise for what a custom model may do wrong."""
    if weights is None:
        return None
    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.ndim != 2 or len(matrix) != length or not matrix.size or not _is_finite(matrix):
        raise ValueError(
            f"the model's weights() have the shape {matrix.shape}; expected finite numbers of "
            f"shape ({length}, hidden units)"
        )
    return matrix


def _is_finite(matrix: Matrix) -> bool:
    return bool(np.isfinite(matrix).all())
