"""What a model learned of a problem's structure, generation after generation.

Weights are not stored, but a run can be repeated to the bit: chosen runs of a store are run again.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harmonium.models import BOA, RBM
from harmonium.models.boa import FittedBOA
from harmonium.models.rbm import FittedRBM
from harmonium.problems import Problem, ProblemSpec, Structure
from harmonium.reports.snapshot import Single, Snapshot
from harmonium.search import AnySearch, Interleaved, run
from harmonium.search.threads import one_blas_thread

DOUBLED: Final = float(np.log(2))
"""A pair counts as learned by an RBM if one bit at least doubles the odds of the other."""
CONTEXTS: Final = 16
"""Parents over which a log odds ratio is averaged; with 256, recall differs by 0.1 at most."""
MAX_LENGTH: Final = 100
"""Bits of a run that is repeated: a map of more is no longer readable."""
MAX_SECONDS: Final = 3.0
"""CPU time that a run may have taken to be repeated."""
BUDGET: Final = 10.0
"""CPU seconds for all repeated runs of a report together."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """The hidden units of an RBM, and how far they capture the blocks of a problem.

    A unit captures a block when most of the sum of its squared weights is on the block's bits.
    """

    weights: Matrix
    """|W|: (length, hidden)."""
    structure: Structure

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
        """How many blocks are captured, each by one unit at least."""
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
        """|W| with units ordered by the block they respond to most: (length, hidden)."""
        order = np.lexsort((-self.shares.max(axis=0), self.shares.argmax(axis=0)))
        return self.weights[:, order]


@dataclass(frozen=True)
class Step:
    """The pairs that the model of one generation has learned, against the true ones."""

    population: int
    """Its size."""
    generation: int
    """Of this population: one of several that take turns counts its own."""
    pairs: int
    precision: float | None
    """Share of the learned pairs that are true; none where nothing is learned."""
    recall: float
    """Share of the true pairs that are learned."""
    captured: float | None
    """Of an RBM: share of the hidden units that capture a block."""


@dataclass
class Learning:
    """Follows a run, as the `callback` of `harmonium.run`, and notes what its model has learned.

    Nothing is noted for models other than RBMs and BOA, or where the problem has no structure.
    """

    problem: Problem
    deadline: float = float("inf")
    """Of `time.process_time`; the run is ended there."""
    steps: list[Step] = field(default_factory=list)
    population: int = 0
    """Size of the population that is shown: where some take turns, that which found the best."""
    pairs: Matrix | None = None
    """Of its last model: sizes of log odds ratios (RBM), or 1 from parent to child (BOA)."""
    units: Units | None = None

    def __post_init__(self) -> None:
        self.structure = read_structure(self.problem)
        self.truth = mark_pairs(self.structure, self.problem.length)
        self._turns: Counter[int] = Counter()

    def __call__(self, search: AnySearch) -> bool:
        """Take in a generation; return whether the time is over."""
        turn, generation = self._turns[search.size], search.generation
        self._turns[search.size] += 1
        if self.structure and isinstance(search.fitted, FittedRBM | FittedBOA):
            shown = True
            if isinstance(search, Interleaved):
                generation, shown = turn, search.improved_by in (search.size, 0)
            self._learn(search.size, generation, search.fitted, shown=shown)
        return time.process_time() > self.deadline

    @property
    def course(self) -> list[Step]:
        """The steps of the population that is shown."""
        return [step for step in self.steps if step.population == self.population]

    @property
    def last(self) -> Step:
        """The last of them."""
        return self.course[-1]

    @property
    def density(self) -> float:
        """Share of true pairs among all: what precision is by chance."""
        return float(self.truth.sum() / max(1, self.truth.size - len(self.truth)))

    def _learn(
        self, population: int, generation: int, fitted: FittedRBM | FittedBOA, *, shown: bool
    ) -> None:
        units: Units | None = None
        if isinstance(fitted, FittedBOA):
            pairs = find_edges(fitted, len(self.truth))
            learned = (pairs + pairs.T) > 0
        else:
            pairs = find_couplings(fitted)
            learned = pairs >= DOUBLED
            units = Units(np.abs(fitted.machine.W.astype(np.float64)), self.structure)
        right, count = int((learned & self.truth).sum()), int(learned.sum())
        self.steps.append(
            Step(
                population=population,
                generation=generation,
                pairs=count // 2,
                precision=right / count if count else None,
                recall=right / max(1, int(self.truth.sum())),
                captured=units.captured if units else None,
            )
        )
        if shown or population == self.population or self.pairs is None:
            self.population, self.pairs, self.units = population, pairs, units


@dataclass(frozen=True)
class Learned:
    """What the model of one run learned, and which run it was."""

    problem: str
    """As titles have it: "trap:order=5, n = 60"."""
    model: str
    """By which it is coloured, and hidden."""
    learning: Learning
    run: str = ""
    """Which of the model's runs it was, where there are several: "seed 2"."""

    @property
    def label(self) -> str:
        """Model and run."""
        return f"{self.model}, {self.run}" if self.run else self.model

    @property
    def name(self) -> str:
        """Problem, model and run."""
        return f"{self.problem}: {self.label}"


def read_structure(problem: Problem) -> Structure:
    """Return the groups of bits that interact, none where a problem does not tell."""
    return problem.structure if isinstance(problem, ProblemSpec) else ()


def explain_silence(problem: Problem) -> str:
    """Say why learned pairs of a problem cannot be scored; nothing where they can."""
    if not isinstance(problem, ProblemSpec):
        return "the problem does not tell which of its bits belong together"
    density = Learning(problem).density
    if density == 0:
        return "each bit counts alone, so there are no true pairs to find"
    if density < 1:
        return ""
    whole = any(len(group) == problem.length for group in problem.structure)
    why = " (the whole string is one)" if whole else ""
    return (
        f"any two bits are together in some block{why}, so every pair that a model learns would be "
        "right, by chance too"
    )


def mark_pairs(structure: Structure, length: int) -> NDArray[np.bool_]:
    """Return which pairs of bits are together in a group: (length, length), symmetric."""
    marked = np.zeros((length, length), dtype=np.bool_)
    for group in structure:
        for one, other in combinations(group, 2):
            marked[one, other] = marked[other, one] = True
    return marked


def find_edges(fitted: FittedBOA, length: int) -> Matrix:
    """Return 1 from parent (row) to child (column), otherwise 0: (length, length)."""
    edges = np.zeros((length, length))
    for parent, child in fitted.edges:
        edges[parent, child] = 1.0
    return edges


def find_couplings(fitted: FittedRBM) -> Matrix:
    """Return how strongly an RBM couples each pair of bits: (length, length), symmetric.

    The size of the log odds ratio of two bits given all others, which an RBM has in closed form:
    Σ over hidden units of log (1 + e^a11)(1 + e^a00) / (1 + e^a10)(1 + e^a01), where a are the
    inputs of the unit with the two bits set to one and zero. The others are as in a parent, and the
    mean over some parents is taken.
    """
    weights, _, biases = (part.astype(np.float64) for part in fitted.machine)
    parents = fitted.parents[:CONTEXTS].astype(np.float64)
    inputs = (parents @ weights + biases).clip(-100.0, 100.0)  # products of e^a must stay numbers
    weights = weights.clip(-50.0, 50.0)
    ratios = np.zeros((len(weights), len(weights)))
    for unit in range(weights.shape[1]):
        seen = np.flatnonzero(weights[:, unit])
        off = np.exp(-parents[:, seen] * weights[seen, unit])  # e^a with a bit set to zero
        on = off * np.exp(weights[seen, unit])
        base = np.exp(inputs[:, unit])[:, None, None]
        both, first = 1 + base * _outer(on, on), 1 + base * _outer(on, off)
        neither, second = 1 + base * _outer(off, off), 1 + base * _outer(off, on)
        ratios[np.ix_(seen, seen)] += np.log(both * neither / (first * second)).mean(axis=0)
    np.fill_diagonal(ratios, 0.0)
    return np.abs(ratios)


def _outer(one: Matrix, other: Matrix) -> Matrix:
    return one[:, :, None] * other[:, None, :]


def _share_blocks(weights: Matrix, structure: Structure) -> Matrix:
    """Return the share of each unit's squared weights on each block: (blocks, hidden)."""
    squared = weights**2
    total = squared.sum(axis=0)
    on_blocks = np.stack([squared[list(group)].sum(axis=0) for group in structure])
    shares: Matrix = on_blocks / np.where(total > 0, total, np.inf)
    return shares


def choose_runs(singles: Sequence[Single]) -> list[Single]:
    """Return a run of each family and model that can show what was learned.

    Of the runs that are short enough it is that of the largest size, and where possible of a size
    that all models of the family have.
    """
    chosen: list[Single] = []
    for family in dict.fromkeys(one.family for one in singles):
        short = [one for one in singles if one.family == family and _is_short(one)]
        sizes: dict[str, set[int]] = {}
        for one in short:
            sizes.setdefault(one.model, set()).add(one.size)
        common = set.intersection(*sizes.values()) if sizes else set()
        largest = {model: max(common or mine) for model, mine in sizes.items()}
        chosen += [one for one in short if one.size == largest[one.model]]
    return chosen


def _is_short(one: Single) -> bool:
    cheap = one.outcome.figures.cpu_seconds.get("total", 0.0) <= MAX_SECONDS
    return cheap and one.trial.problem.length <= MAX_LENGTH


def _is_telling(one: Single) -> bool:
    """Whether a model that shows its pairs solved a problem in which some, not all, interact."""
    if not isinstance(one.trial.eda.model, RBM | BOA) or not one.outcome.figures.solved:
        return False
    return not explain_silence(one.trial.problem)


def repeat_runs(
    snapshot: Snapshot, known: dict[str, Learning | None], budget: float = BUDGET
) -> tuple[list[Learned], list[str]]:
    """Run chosen runs of a store again; return them, and in words what had to be left out.

    `known` is what was repeated before, by the key of the trial; new ones are added to it.
    """
    telling = [one for one in snapshot.singles if _is_telling(one)]
    chosen = choose_runs(telling)
    learned: list[Learned] = []
    silent = {one.family: explain_silence(one.trial.problem) for one in snapshot.singles}
    remarks = [f"{family} is left out: {why}." for family, why in silent.items() if why]
    end = time.process_time() + budget
    for one in chosen:
        key, problem = one.trial.key, f"{one.family}, n = {one.size}"
        if key not in known and time.process_time() < end:
            learning = _repeat(one, end)
            if time.process_time() < end:
                known[key] = learning
        if key not in known:
            why = f"the {budget:g} CPU seconds for such runs were over"
            remarks.append(f"{problem}: {one.model} is left out; {why}.")
            continue
        learning = known[key]
        if learning is None:
            why = "here the run goes otherwise than it was stored (another processor or version?)"
            remarks.append(f"{problem}: {one.model} is left out; {why}.")
        elif learning.steps:  # none where the first random population had the optimum
            learned.append(Learned(problem, one.model, learning))
    shown = {(one.family, one.model) for one in chosen}
    why = f"its runs took more than {MAX_SECONDS:g} CPU seconds or have more than {MAX_LENGTH} bits"
    remarks += [
        f"{family}: {model} is left out; {why}."
        for family, model in dict.fromkeys((one.family, one.model) for one in telling)
        if (family, model) not in shown
    ]
    return learned, remarks


def _repeat(one: Single, end: float) -> Learning | None:
    """Run a stored trial again; none if it does not go as it did."""
    trial = one.trial
    learning = Learning(trial.problem, end)
    with one_blas_thread():
        result = run(trial.problem, trial.eda, stop=trial.stop, seed=trial.seed, callback=learning)
    return learning if result.evaluations == one.outcome.figures.evaluations else None
