"""A (1+1) EA as a user writes it, in a module of its own."""

from pathlib import Path

from tests.search.documented import DOCUMENTED

MODULE = (
    DOCUMENTED
    + '''
@dataclass(frozen=True)
class Broken(hm.Algorithm):
    """Raises an error of its own."""

    def start(self, space, seed):
        raise ValueError("not written yet")


def count(bits):
    return int(bits.sum())
'''
)

EA = "ea:OnePlusOne"


def write_algorithm(folder: Path) -> None:
    """Write the module `ea` with the algorithm and a function to optimise."""
    (folder / "ea.py").write_text(MODULE, encoding="utf-8")
