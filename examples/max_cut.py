"""Cut a graph
===========

Split the nodes of a graph into two parts so that as many edges as possible are cut.

The graph is a toroidal grid of 8 x 8 nodes with shuffled numbers; its maximum cut is known, all 128
edges. The function is compiled by Numba and needs no wrapper.
"""

import matplotlib.pyplot as plt
import numba
import numpy as np

import harmonium as hm

SIDE = 8
grid = np.random.default_rng(3).permutation(SIDE * SIDE).reshape(SIDE, SIDE)
edges = np.concatenate(
    [np.stack([grid, np.roll(grid, 1, axis)], axis=-1).reshape(-1, 2) for axis in (0, 1)]
)


@numba.njit
def count_cut(bits: np.ndarray) -> int:
    """Return the number of edges whose ends are in different parts."""
    cut = 0
    for one, other in edges:
        cut += bits[one] != bits[other]
    return cut


result = hm.maximize(count_cut, length=SIDE * SIDE, target=len(edges), seed=1)
print(f"{result.fun:g} of {len(edges)} edges are cut: {result.message}")
print(f"{result.calls:,} calls in {result.seconds:.1f} s, model {result.label}")

plt.figure(figsize=(3.5, 3.5), layout="constrained")
plt.imshow(result.x[grid], cmap="cividis")
plt.title("the two parts")
plt.axis("off")
plt.show()
