"""
The ground state of a spin glass
================================

Spins on a grid point up or down. Neighbours want to be equal or different, at random, and not all
wishes can be satisfied: that makes a spin glass hard. For a torus of 8 × 8 spins harmonium knows
the exact optimum, so that we can see whether a search finds it.
"""

import matplotlib.pyplot as plt
import numpy as np

import harmonium as hm

problem = hm.Ising(length=64, side=8, instance=3)
print(f"{problem.length} spins, optimum {problem.optimum:g}")

# %%
# Two searches
# ------------
# ``hm.run`` counts every evaluation and stops at the known optimum. The pyramid is what
# ``maximize`` uses; the EDA with an RBM learns a probability distribution of good rows.

algorithms = {"pyramid": hm.Pyramid(), "rbm": hm.EDA("rbm", population=600)}
results = {name: hm.run(problem, one, seed=2) for name, one in algorithms.items()}
for name, result in results.items():
    print(f"{name}: {result.fun:g} after {result.evaluations:,} evaluations, {result.message}")

# %%
# Every improvement of a run is kept, so that the best so far can be drawn exactly.

figure, axis = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, result in results.items():
    steps = [(step.evaluations, step.best) for step in result.improvements]
    steps.append((result.evaluations, result.fun))
    axis.step(*zip(*steps, strict=True), where="post", label=name)
axis.axhline(problem.optimum, color="gray", linestyle=":", label="optimum")
axis.set(xscale="log", xlabel="evaluations", ylabel="best so far")
axis.legend()
plt.show()

# %%
# What the spins look like
# ------------------------
# Flipping all spins changes nothing, so each optimum has a twin. There are many more: the ten best
# solutions of the pyramid differ in clusters of spins that are loosely tied to the rest.

solutions = results["pyramid"].solutions
spins = np.array([solution.x for solution in solutions[:3]])
spins ^= spins[:, :1]  # choose the twin whose first spin is down
figure, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
for axis, row, solution in zip(axes, spins, solutions, strict=False):
    axis.imshow(row.reshape(8, 8), cmap="cividis")
    axis.set(title=f"energy {-solution.fun:g}", xticks=[], yticks=[])
plt.show()

# %%
# Larger glasses
# --------------
# Beyond 12 × 12 the optimum is unknown, and a run never counts as solved. Then give a budget, run
# several seeds, and compare: see "Is my result optimal?" among the how-to pages.

large = hm.Ising(length=400, side=20, instance=1)
result = hm.run(large, hm.Pyramid(), stop=hm.Stop(max_evaluations=20_000), seed=1)
print(f"{result.fun:g} of unknown {large.optimum}: {result.message}")
