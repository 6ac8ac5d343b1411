"""The algorithm that docs/research/algorithms.md shows: it must keep the contract too."""

import re
import sys
from pathlib import Path
from types import ModuleType

from harmonium import Algorithm

PAGE = Path(__file__).parents[2] / "docs" / "research" / "algorithms.md"
BLOCK = re.compile(r"^```python\n(# one_plus_one.py\n.*?)^```", re.M | re.S)
DOCUMENTED = BLOCK.findall(PAGE.read_text("utf-8"))[0]
"""The module that the page shows."""


def load_documented() -> Algorithm:
    """Return the algorithm of the page, its module made importable."""
    module = ModuleType("documented_one_plus_one")
    module.__file__ = str(PAGE)
    sys.modules[module.__name__] = module
    exec(compile(DOCUMENTED, str(PAGE), "exec"), vars(module))  # noqa: S102
    algorithm: Algorithm = module.OnePlusOne()
    return algorithm
