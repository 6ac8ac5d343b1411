"""Blocks by description length, against counts by hand and a plain greedy search."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.models import ecga
from tests.models.test_boa import noisy_blocks

Blocks = set[tuple[int, ...]]


def describe(rows: Bits, blocks: Blocks) -> float:
    """Return the description length of rows: Σ N·H(S) + log2(N + 1)·(2^|S| - 1)."""
    length = 0.0
    for bits in blocks:
        _, counts = np.unique(rows[:, bits], axis=0, return_counts=True)
        length -= float(np.sum(counts * np.log2(counts / len(rows))))
        length += float(np.log2(len(rows) + 1)) * (2 ** len(bits) - 1)
    return length


def merge_plainly(rows: Bits) -> Blocks:
    """Merge the two blocks that save most, as long as any do."""
    blocks: Blocks = {(bit,) for bit in range(rows.shape[1])}
    while True:
        mergers = {
            pair: (blocks - set(pair)) | {tuple(sorted(pair[0] + pair[1]))}
            for pair in itertools.combinations(sorted(blocks), 2)
        }
        best = min(mergers.values(), key=lambda merged: describe(rows, merged), default=blocks)
        if describe(rows, best) >= describe(rows, blocks) - 1e-9:
            return blocks
        blocks = best


def read_blocks(block: NDArray[np.int64]) -> Blocks:
    return {tuple(np.flatnonzero(block == name).tolist()) for name in set(block.tolist())}


def test_a_gain_counted_by_hand() -> None:
    """Seven rows of two equal bits, four of them ones.

    Apart, each bit takes 7·H(4/7) bits and its model log2(8)·1 = 3; together the rows take 7·H(4/7)
    once and the model 3·3 = 9. So the merger saves 7·H(4/7) - 3.
    """
    rows = np.array([[1, 1]] * 4 + [[0, 0]] * 3, dtype=np.uint8)
    entropy = -7 * (4 / 7 * np.log2(4 / 7) + 3 / 7 * np.log2(3 / 7))
    apart, together = describe(rows, {(0,), (1,)}), describe(rows, {(0, 1)})
    assert apart == pytest.approx(2 * entropy + 6)
    assert together == pytest.approx(entropy + 9)
    assert read_blocks(ecga.build(rows)) == {(0, 1)}


@pytest.mark.parametrize(("seed", "noise"), [(0, 0.0), (1, 0.1), (2, 0.1), (3, 0.25), (4, 0.25)])
def test_blocks_are_those_of_a_plain_greedy_search(seed: int, noise: float) -> None:
    rows = noisy_blocks(150, 8, 4, seed, noise)
    assert read_blocks(ecga.build(rows)) == merge_plainly(rows)
