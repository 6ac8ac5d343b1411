"""
A study from scratch
====================

How do the evaluations of two algorithms grow with the size of a problem? A *study* answers such
questions: it runs every algorithm on every size with the same seeds, stores each run when it ends,
and makes tables, tests and scaling laws of the store.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import harmonium as hm

# %%
# What to measure
# ---------------
# A *family* is a problem at several sizes. 4-traps are deceptive: each block of four bits leads
# away from its optimum, so that bits have to be set together. The plan ``Runs`` runs every
# algorithm as it is; ``Bisect`` would look for the smallest population that solves all runs.

traps = hm.Family("trap:order=4", sizes=[12, 16, 24], runs=6)
algorithms = {
    "pyramid": hm.Pyramid(),
    "boa": hm.EDA("boa", population=400),
    "umda": hm.EDA("umda", population=400),
}
study = hm.Study("first", [traps], algorithms, hm.Runs(), stop={"max_evaluations": 20_000})

# %%
# Run it
# ------
# The store is one file. If this cell is interrupted, running it again continues where it was; with
# more sizes, runs or algorithms only the new ones are run. Without ``engine="serial"`` all cores
# are used, which needs a script instead of a notebook.

store = Path(tempfile.mkdtemp()) / "first.db"
result = study.run(store, engine="serial")
for row in result.rows:
    cost = row.expected_evaluations
    words = "never solved" if cost is None else f"{cost.mean:,.0f} evaluations"
    print(f"{row.size} bits, {row.name}: {row.solved} of {row.runs} solved, {words}")

# %%
# Runtimes
# --------
# A *trajectory* is the best so far of one run. From all of them comes the share of runs that have
# solved the problem after a number of evaluations.

figure, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for axis, size in zip(axes, (12, 16, 24), strict=True):
    for name in algorithms:
        runs = [run for run in result.trajectories if (run.size, run.name) == (size, name)]
        times = np.sort([run.find_runtimes([run.optimum])[0] for run in runs])
        axis.step(times, np.arange(1, len(times) + 1) / len(times), where="post", label=name)
    axis.set(title=f"{size} bits", xscale="log", xlim=(10, 20_000), xlabel="evaluations")
axes[0].set(ylabel="share of runs solved", ylim=(0, 1.05))
axes[0].legend()
plt.show()

# %%
# ``harmonium.plots`` has charts of this kind ready, by Altair: ``plots.plot_ecdf`` and
# ``plots.plot_ert``.
#
# Compare
# -------
# Algorithms are compared in pairs that share the seed, by Wilcoxon's test with Holm's correction.
# ``a12`` is the effect size: the chance that a run of the first costs less than one of the other.
# With six runs even a clear difference is not significant: a fair comparison needs more of them.

for pair in result.comparisons[:3]:
    print(pair.size, pair.name, pair.other, f"p = {pair.p_holm:.3f}, a12 = {pair.a12:.2f}")

# %%
# A page with all of this, to share: ``harmonium report first.db -o first.html``. The same study as
# a file of a few lines, for the command line, is described on the page "Studies".
