"""Evaluate rows in your own code
==============================

Evaluate rows in your own code: ask for rows, evaluate them, tell their fitness in any order.

Here a pool of workers returns one row at a time, out of order. A known solution is told at the
start, and the search is saved and restored between `ask` and `tell`, as a batch job would do.
"""

from concurrent.futures import ThreadPoolExecutor, as_completed

import matplotlib.pyplot as plt
import numpy as np

import harmonium as hm

LENGTH = 40
wanted = np.random.default_rng(5).integers(0, 2, LENGTH)


def measure(bits: np.ndarray) -> float:
    """Return the number of correct bits, plus 2 for each correct pair."""
    right = bits == wanted
    return float(right.sum() + 2 * (right[::2] & right[1::2]).sum())


eda = hm.EDA("boa", population=200)
search = eda.start(LENGTH, seed=1)
best = np.ones(LENGTH, dtype=np.uint8)
best_fitness = measure(best)
search.inject(best[None], np.array([best_fitness]))  # known before the search began
evaluations = 1
course = [(0, best_fitness)]

with ThreadPoolExecutor() as workers:
    while best_fitness < 2 * LENGTH and search.status().generation < 50:
        rows = search.ask()
        search = eda.restore(LENGTH, 1, search.snapshot())  # saved and restored
        answers = {workers.submit(measure, row): place for place, row in enumerate(rows)}
        for answer in as_completed(answers):
            place, fitness = answers[answer], answer.result()
            row = rows[place]
            search.tell([row], [fitness], [place])
            evaluations += 1
            if fitness > best_fitness:
                best, best_fitness = row, fitness
        course.append((search.status().generation, best_fitness))

print(f"best {best_fitness:g} of {2 * LENGTH}, {evaluations:,} evaluations")
print(f"{search.status().generation} generations; all right: {(best == wanted).all()}")

plt.figure(figsize=(6, 3.5), layout="constrained")
plt.plot(*zip(*course, strict=True), marker="o")
plt.xlabel("generation")
plt.ylabel("best so far")
plt.show()
