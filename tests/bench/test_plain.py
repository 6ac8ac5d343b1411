"""The plain versions do what our kernels do: the same weights, chains and networks."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from harmonium.arrays import Bits
from harmonium.bench import rbm as bench
from harmonium.bench.boa import make_trap_rows
from harmonium.bench.plain import (
    Numbers,
    build_network,
    find_descendants,
    score_family,
    score_network,
)
from harmonium.bench.scale import Size
from harmonium.models import BOA
from harmonium.models.kernels import rbm as kernels
from harmonium.models.kernels.draws import fork, uniform
from harmonium.models.kernels.rbm import Machine

KEY = bench._KEY


class KernelDraws:
    """The draws of the kernels, stream after stream, then again for the next batch of rows."""

    def __init__(self, streams: Sequence[int]) -> None:
        self.streams = itertools.cycle(streams)
        self.last = streams[-1]
        self.first = 0

    def random(self, size: tuple[int, ...]) -> Numbers:
        rows, units = size
        stream = next(self.streams)
        low, high = fork(KEY, stream)
        start = self.first * units
        self.first += rows * (stream == self.last)
        draws = [uniform(low, high, np.uint32(start + index)) for index in range(rows * units)]
        return np.array(draws, dtype=np.float64).reshape(size)


def test_an_epoch_of_numpy_gives_the_weights_of_our_kernel() -> None:
    size = Size(300, 12)  # three whole batches
    rows, machine, plain = bench.make_rows(size), bench.make_machine(size), bench.make_plain(size)
    bench.train_ours(rows, machine)()
    order = bench.make_order(rows)
    plain.train_epoch(rows.astype(np.float64), order, bench.BATCH, KernelDraws([0, 2]))
    assert not np.array_equal(plain.weights, bench.make_plain(size).weights)
    np.testing.assert_allclose(machine.W, plain.weights, atol=1e-5)
    np.testing.assert_allclose(machine.b, plain.visible_bias, atol=1e-5)
    np.testing.assert_allclose(machine.c, plain.hidden_bias, atol=1e-5)


def test_chains_of_numpy_walk_where_our_kernel_walks() -> None:
    size = Size(40, 12)
    rows, steps = bench.make_rows(size), 3
    there = bench.make_plain(size).walk(rows.astype(np.float64), steps, KernelDraws(range(6)))
    chains = rows.copy()
    kernels.gibbs(chains, bench.make_machine(size), steps, KEY)
    np.testing.assert_array_equal(chains, there)
    assert not np.array_equal(chains, rows)


@pytest.mark.parametrize("trainer", ["ours", "NumPy", "torch"])
def test_every_trainer_learns_blocks_of_equal_bits(trainer: str) -> None:
    size = Size(400, 12)
    blocks = np.random.default_rng(4).integers(0, 2, (size.rows, 3))
    rows = np.repeat(blocks, 4, axis=1).astype(np.float32)
    machine, plain = bench.make_machine(size), bench.make_plain(size)
    before = kernels.reconstruction_error(rows, machine, False, KEY)
    if trainer == "ours":
        train = bench.train_ours(rows, machine)
    elif trainer == "NumPy":
        train = bench.train_numpy(rows, plain)
    else:
        train = bench.train_torch(pytest.importorskip("torch"), rows, machine)
    for _ in range(200):
        train()
    if trainer == "NumPy":
        parts = (plain.weights, plain.visible_bias, plain.hidden_bias)
        machine = Machine(*(part.astype(np.float32) for part in parts))
    error = kernels.reconstruction_error(rows, machine, False, KEY)
    assert before > 0.45
    assert error < 0.25  # seen: 0.16


def noisy_blocks(count: int, length: int, size: int, seed: int) -> Bits:
    rng = np.random.default_rng(seed)
    rows = np.repeat(rng.integers(0, 2, (count, length // size)), size, axis=1)
    return (rows ^ (rng.random((count, length)) < 0.15)).astype(np.uint8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_parents", [1, 3, 8])
def test_the_plain_search_finds_our_network(seed: int, max_parents: int) -> None:
    rows = noisy_blocks(200, 10, 5, seed)
    ours = set(BOA(max_parents).fit(rows, np.random.default_rng(1)).edges)
    network = build_network(rows, max_parents, preferred=ours)
    assert {(parent, child) for child, known in enumerate(network) for parent in known} == ours
    assert len(ours) > 5


def test_the_plain_search_finds_our_network_on_rows_of_the_bench() -> None:
    rows = make_trap_rows(Size(300, 20))
    ours = set(BOA().fit(rows, np.random.default_rng(1)).edges)
    network = build_network(rows, BOA().max_parents, preferred=ours)
    assert {(parent, child) for child, known in enumerate(network) for parent in known} == ours


def test_a_term_of_the_bic_counted_by_hand() -> None:
    """A fair bit costs 8 bits of likelihood in 8 rows; its copy costs nothing once it is known.

    The prices are log2(8)/2 = 1.5 for one parameter, and 3 for two.
    """
    bit = [0, 0, 1, 1, 0, 0, 1, 1]
    assert score_family(bit, []) == pytest.approx(-8 - 1.5)
    assert score_family(bit, [bit]) == pytest.approx(-3)
    rows = np.array([bit, bit], dtype=np.uint8).T.copy()
    assert score_network(rows, [[], [0]]) == pytest.approx(-9.5 - 3)
    assert build_network(rows, 8, preferred={(0, 1)}) == [[], [0]]
    assert build_network(rows, 8, preferred={(1, 0)}) == [[1], []]


def test_descendants_are_followed_to_the_end() -> None:
    network = [[], [0], [1], [2, 4], []]
    assert find_descendants(network, 0) == {0, 1, 2, 3}
    assert find_descendants(network, 4) == {3, 4}
    assert find_descendants(network, 3) == {3}
