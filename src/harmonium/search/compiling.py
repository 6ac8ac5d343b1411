"""Compile kernels before the clocks start, so that no run is charged for the first use."""

from dataclasses import replace

import numpy as np

from harmonium.models import MODELS, UMDA
from harmonium.problems import Problem, ProblemSpec
from harmonium.search.distinct import Distinct
from harmonium.search.eda import EDA

_compiled: set[object] = set()


def compile_kernels(problem: Problem | None, eda: EDA) -> None:
    """Exercise the kernels of this problem and EDA on a few bits, once a process.

    Numba keeps the compiled code on disk, so later processes only load it. Functions of the user's
    own are never called here.
    """
    if isinstance(problem, ProblemSpec) and type(problem) not in _compiled:
        problem(np.zeros((1, problem.length), dtype=np.uint8))
        _compiled.add(type(problem))
    if Distinct not in _compiled:
        Distinct().add(np.zeros((1, 6), dtype=np.uint8))
        _compiled.add(Distinct)
    ours = isinstance(eda.model, tuple(MODELS))
    model = eda.model if ours else UMDA()
    kind = (model, eda.replacement)  # fields too: they choose which kernels run
    if kind not in _compiled:
        search = replace(eda, model=model, population=max(20, 2 * eda.tournament)).start(
            length=6, seed=0
        )
        for _ in range(3):
            bits = search.ask()
            search.tell(bits, bits.sum(axis=1))
        _compiled.add(kind)
