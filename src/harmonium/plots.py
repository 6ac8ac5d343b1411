"""Charts of the runs of a study, made by Altair: ECDF of runtimes and expected running times.

They draw trajectories, which a study has of every run. The functions return Altair charts:
notebooks show them, `chart.save("ecdf.pdf")` writes them. Several problem sizes are panels of one
chart; to draw some of them, choose among the trajectories.

>>> import harmonium as hm
>>> from harmonium import plots
>>> study = hm.Study(
...     "umda",
...     families=[hm.Family("onemax", sizes=[10], runs=2)],
...     algorithms={"umda": hm.EDA("umda", population=20)},
...     plan=hm.Runs(),
... )
>>> result = study.run("umda.db", engine="serial")
>>> chart = plots.plot_ecdf(result.trajectories)
>>> type(chart).__name__
'Chart'

This module is imported on demand, and needs the extra `report`: ``pip install harmonium[report]``.
IOHanalyzer draws more kinds of charts of the same runs, from what `harmonium study export --format
ioh` writes.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harmonium.analysis.performance import QUALITIES, Trajectory
from harmonium.reports.charts import Figure
from harmonium.reports.performance import draw_ecdfs, draw_erts
from harmonium.reports.theme import Styles, make_config, style_algorithms

if TYPE_CHECKING:
    import altair as alt

    Chart = alt.Chart | alt.LayerChart | alt.ConcatChart

__all__ = ["plot_ecdf", "plot_ert"]


def plot_ecdf(trajectories: Sequence[Trajectory], targets: Sequence[float] = QUALITIES) -> "Chart":
    """Plot the ECDF of runtimes: the share of (run, target) pairs reached by evaluations.

    Runs that end before they reach a target are not restarted by simulation; a cross marks the
    longest run of an algorithm that misses targets.

    Parameters
    ----------
    trajectories : sequence of Trajectory
        Runs, such as `StudyResult.trajectories`.
    targets : sequence of float, optional
        Targets as shares of the range from the worst first row of all runs (0) to the optimum, or
        to the best value found if the optimum is unknown (1); by default 50, evenly spaced.

    Returns
    -------
    altair chart
        With a panel for each problem size.

    References
    ----------
    Hansen, Auger, Ros, Mersmann, Tušar and Brockhoff 2021: COCO: a platform for comparing
    continuous optimizers in a black-box setting. Optimization Methods and Software 36.

    Doerr, Wang, Ye, van Rijn and Bäck 2018: IOHprofiler: a benchmarking and profiling tool for
    iterative optimization heuristics. arXiv:1810.05281.

    Examples
    --------
    >>> from harmonium.plots import plot_ecdf
    >>> from harmonium.studies import Trajectory
    >>> run = Trajectory("onemax", 8, None, "umda", 1, 8.0, 30, [(1, 3.0), (4, 6.0), (9, 8.0)])
    >>> chart = plot_ecdf([run])
    >>> chart.save("ecdf.svg")  # doctest: +SKIP
    """
    return _plot(draw_ecdfs, trajectories, targets)


def plot_ert(trajectories: Sequence[Trajectory], targets: Sequence[float] = QUALITIES) -> "Chart":
    """Plot the expected running time (ERT) to each target.

    It is the number of evaluations of all runs up to the target, divided by the number of runs that
    reach it. A run that does not reach it counts with all its evaluations.

    Parameters
    ----------
    trajectories : sequence of Trajectory
        Runs, such as `StudyResult.trajectories`.
    targets : sequence of float, optional
        Targets as in `plot_ecdf`. The axis shows them as f(x), or as shares if there are several
        instances of a problem.

    Returns
    -------
    altair chart
        With a panel for each problem size.

    References
    ----------
    Auger and Hansen 2005: Performance evaluation of an advanced local search evolutionary
    algorithm. Congress on Evolutionary Computation.

    Examples
    --------
    >>> from harmonium.plots import plot_ert
    >>> from harmonium.studies import Trajectory
    >>> run = Trajectory("onemax", 8, None, "umda", 1, 8.0, 30, [(1, 3.0), (4, 6.0), (9, 8.0)])
    >>> chart = plot_ert([run])
    >>> chart.save("ert.svg")  # doctest: +SKIP
    """
    return _plot(draw_erts, trajectories, targets)


def _plot(
    draw: Callable[[Sequence[Trajectory], Styles, Sequence[float]], Figure],
    trajectories: Sequence[Trajectory],
    targets: Sequence[float],
) -> "Chart":
    """Return the panels of a figure as one chart, with the look of the reports."""
    if not len(trajectories):
        raise ValueError("there are no trajectories; expected those of rows that are done")
    if not len(targets) or not all(0 <= target <= 1 for target in targets):
        raise ValueError(f"targets are {list(targets)}; expected shares from 0 to 1, at least one")
    styles = style_algorithms(one.label for one in trajectories)
    chart: Chart = draw(trajectories, styles, targets).combine().properties(background="white")
    config = make_config(dark=False)
    config["legend"].pop("layout", None)  # Vega has it, the schema that Altair checks does not
    chart.config = config
    return chart
