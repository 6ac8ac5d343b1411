"""The packages we measure ourselves against: all optional, none imported before it is needed."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from harmonium.bench.results import Skipped


@dataclass(frozen=True)
class Peer:
    """A package by its name on PyPI, the module that is wanted of it, and how to get it."""

    name: str
    module: str
    remedy: str = "pip install 'harmonium[bench]'"


PEERS: Final = {
    peer.name: peer
    for peer in (
        Peer("scikit-learn", "sklearn.neural_network"),
        Peer("torch", "torch", "compared only where it is, as its builds are large"),
        Peer("pgmpy", "pgmpy.causal_discovery"),
        Peer("gomea", "gomea"),
    )
}

Modules = Mapping[str, Any]
"""Modules of the peers that are there, by the name of the package."""


def load_peers(names: tuple[str, ...]) -> tuple[dict[str, Any], list[Skipped]]:
    """Import these peers; return the modules that are there, and why the others are not."""
    modules: dict[str, Any] = {}
    skipped: list[Skipped] = []
    for name in names:
        peer = PEERS[name]
        try:
            modules[name] = import_module(peer.module)
        except ImportError as error:
            missing = error.name in _with_parents(peer.module)
            reason = f"not installed; {peer.remedy}" if missing else f"cannot be imported: {error}"
            skipped.append(Skipped(name, reason))
    return modules, skipped


def _with_parents(module: str) -> set[str]:
    """Return a module and the packages around it."""
    parts = module.split(".")
    return {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
