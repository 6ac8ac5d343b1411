"""
Write a model
=============

An EDA is a loop around a model: it selects good rows, fits the model to them, and samples new rows.
Here we write a model of our own, watch what it learns, and compare it with those that are there.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

import harmonium as hm

# %%
# A chain of bits
# ---------------
# Every bit depends on the bit before it: we estimate how often it is one after a zero and after a
# one. A model is a frozen dataclass with ``fit``; what it returns has ``sample``. All randomness
# comes from the given ``rng``.


@dataclass(frozen=True)
class Chain(hm.Model):
    """Each bit depends on the one before it."""

    smoothing: float = 1.0

    def fit(self, parents, rng, previous=None):
        """Count how often a bit is one after a zero and after a one."""
        before, after = parents[:, :-1], parents[:, 1:]
        tables = []
        for value in (0, 1):
            same = before == value
            ones = (after * same).sum(axis=0) + self.smoothing
            tables.append(ones / (same.sum(axis=0) + 2 * self.smoothing))
        return FittedChain(parents[:, 0].mean(), np.array(tables))


@dataclass(frozen=True)
class FittedChain:
    """The frequency of the first bit, and of the others after a zero and after a one."""

    first: float
    tables: np.ndarray

    @property
    def facts(self):
        """Numbers for traces and reports."""
        return {"strongest": float(np.abs(self.tables[1] - self.tables[0]).max())}

    def sample(self, count, rng):
        """Draw rows from left to right."""
        rows = np.empty((count, self.tables.shape[1] + 1), dtype=np.uint8)
        rows[:, 0] = rng.random(count) < self.first
        for bit, table in enumerate(self.tables.T, start=1):
            rows[:, bit] = rng.random(count) < table[rows[:, bit - 1]]
        return rows

    def interactions(self):
        """Return how strongly neighbours are coupled; reports draw it."""
        length = self.tables.shape[1] + 1
        strengths = np.zeros((length, length))
        strengths[np.arange(length - 1), np.arange(1, length)] = np.abs(
            np.diff(self.tables, axis=0)
        )
        return hm.Interactions(strengths, threshold=0.2, directed=True, unit="difference")


# %%
# Use it
# ------
# The model works wherever a model does. This function rewards rows in which neighbours are equal in
# runs of exactly three; ``run`` takes any object with ``length``, ``optimum`` and a call.


class Triples:
    """The number of blocks of three equal bits whose neighbour block differs."""

    length, optimum = 36, 12.0

    def __call__(self, bits):
        """Return the fitness of each row."""
        blocks = bits.reshape(len(bits), -1, 3)
        equal = (blocks == blocks[:, :, :1]).all(axis=2)
        differs = blocks[:, :, 0] != np.roll(blocks[:, :, 0], 1, axis=1)
        return (equal & differs).sum(axis=1).astype(float)


models = {"chain": Chain(), "umda": hm.UMDA(), "boa": hm.BOA()}
results = {}
for name, model in models.items():
    results[name] = hm.run(Triples(), hm.EDA(model, population=500), seed=1)
    print(f"{name}: {results[name].fun:g} after {results[name].evaluations:,} evaluations")

# %%
# What it learns
# --------------
# ``facts`` of every generation are in the trace of a result.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for name, result in results.items():
    steps = [(step.generation, step.best) for step in result.trace]
    axes[0].plot(*zip(*steps, strict=True), label=name)
axes[0].set(xlabel="generation", ylabel="best so far")
axes[0].legend()
trace = [step for step in results["chain"].trace if step.facts]
axes[1].plot([s.generation for s in trace], [s.facts["strongest"] for s in trace], color="C0")
axes[1].set(xlabel="generation", ylabel="strongest coupling of the chain")
plt.show()

# %%
# Everywhere else
# ---------------
# In a module ``chain.py`` the same class is ``chain:Chain`` on the command line and in study files:
# ``harmonium solve trap:length=20,order=5 --model chain:Chain:smoothing=0.5``. The page "Custom
# models" has the whole contract.
