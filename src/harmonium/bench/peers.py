"""The packages that the bench compares with: all optional, imported only when needed."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from harmonium.bench.results import Skipped


@dataclass(frozen=True)
class Peer:
    """A package: its name on PyPI, the module that the bench uses, and how to install it."""

    name: str
    module: str
    remedy: str = "pip install 'harmonium[bench]'"


PEERS: Final = {
    peer.name: peer
    for peer in (
        Peer("scikit-learn", "sklearn.neural_network"),
        Peer("torch", "torch", "pip install torch"),
        Peer("pgmpy", "pgmpy.causal_discovery"),
        Peer("gomea", "gomea"),
    )
}

Modules = Mapping[str, Any]
"""Modules of the installed peers, by the name of the package."""


def load_peers(names: tuple[str, ...]) -> tuple[dict[str, Any], list[Skipped]]:
    """Import these peers; return the modules, and the reasons for those that are skipped."""
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
    """Return a module and the packages that contain it."""
    parts = module.split(".")
    return {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
