"""BOA's network as a graph of networkx."""

import sys

import numpy as np
import pytest

from harmonium import BOA
from harmonium.models.boa import FittedBOA

networkx = pytest.importorskip("networkx")


@pytest.fixture(scope="module")
def fitted() -> FittedBOA:
    """Return the network of rows whose bit 3 is the majority of bits 0, 1 and 2."""
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2, (2000, 6), dtype=np.uint8)
    rows[:, 3] = rows[:, :3].sum(axis=1) >= 2
    return BOA().fit(rows, rng)


def test_nodes_are_bits_and_edges_lead_from_parents(fitted: FittedBOA) -> None:
    network = fitted.to_networkx()
    assert sorted(network) == list(range(6))
    assert sorted(network.edges) == sorted(fitted.edges)
    assert networkx.is_directed_acyclic_graph(network)
    for bit in network:
        assert sorted(network.predecessors(bit)) == sorted(network.nodes[bit]["parents"])
    assert {frozenset(part) for part in networkx.weakly_connected_components(network)} == {
        *map(frozenset, ({0, 1, 2, 3}, {4}, {5}))
    }


def test_nodes_have_the_probabilities_of_their_configurations(fitted: FittedBOA) -> None:
    network = fitted.to_networkx()
    for bit in network:
        parents, probabilities = (network.nodes[bit][name] for name in ("parents", "probabilities"))
        assert len(probabilities) == 2 ** len(parents)
    # What is sampled has the probabilities of the node, parent t as bit t of the configuration.
    rows = fitted.sample(20_000, np.random.default_rng(2))
    child = max(network, key=network.in_degree)
    parents = network.nodes[child]["parents"]
    assert len(parents) == 3
    where = sum(rows[:, parent].astype(int) << place for place, parent in enumerate(parents))
    for configuration, probability in enumerate(network.nodes[child]["probabilities"]):
        drawn = rows[where == configuration, child]
        if len(drawn) > 200:  # five standard deviations: one false alarm in 200,000
            assert abs(drawn.mean() - probability) <= 5 * (0.25 / len(drawn)) ** 0.5


def test_without_networkx_there_is_one_line(
    fitted: FittedBOA, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=r"^to_networkx needs networkx; pip install networkx$"):
        fitted.to_networkx()
