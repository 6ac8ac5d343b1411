"""Run the evaluations yourself: ask for rows, evaluate them anyhow, tell them in any order.

Here a queue of workers answers out of order, one row at a time; a known solution is handed in at
the start, and the search is saved between `ask` and `tell` and taken up again, as a job would.
"""

from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

import harmonium as hm

LENGTH = 40
wanted = np.random.default_rng(5).integers(0, 2, LENGTH)


def measure(bits: np.ndarray) -> float:
    """Return how many bits are as they should be; pairs count double."""
    right = bits == wanted
    return float(right.sum() + 2 * (right[::2] & right[1::2]).sum())


eda = hm.EDA(hm.BOA(), population=200)
search = eda.start(length=LENGTH, seed=1)
guess = np.ones((1, LENGTH), dtype=np.uint8)
search.tell(guess, [measure(guess[0])])  # known before the search began

with ThreadPoolExecutor() as workers:
    while search.best_fitness < 2 * LENGTH and search.generation < 50:
        rows = search.ask()
        search = eda.restore(LENGTH, 1, search.snapshot())  # saved, and taken up again
        answers = {workers.submit(measure, row): row for row in rows}
        for answer in as_completed(answers):
            search.tell([answers[answer]], [answer.result()])

print(f"best {search.best_fitness:g} of {2 * LENGTH}, {search.evaluations:,} evaluations")
print(f"{search.generation} generations; all right: {(search.best_bits == wanted).all()}")
