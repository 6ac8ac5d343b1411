"""Instance files: a module a family of formats, all on one reader. `problems/file.py` uses them."""

from harmonium.problems.formats.cnf import Formula, read_formula, write_cnf
from harmonium.problems.formats.nk import Landscape, read_nk, write_nk
from harmonium.problems.formats.orlib import (
    Cover,
    Items,
    read_knapsack,
    read_setcover,
    write_knapsack,
)
from harmonium.problems.formats.pairs import (
    Pairs,
    read_ising,
    read_maxcut,
    read_qubo,
    write_ising,
    write_qubo,
)
from harmonium.problems.formats.reader import FORMATS, SUFFIXES, Format, Reader, detect_format

__all__ = [
    "FORMATS",
    "SUFFIXES",
    "Cover",
    "Format",
    "Formula",
    "Items",
    "Landscape",
    "Pairs",
    "Reader",
    "detect_format",
    "read_formula",
    "read_ising",
    "read_knapsack",
    "read_maxcut",
    "read_nk",
    "read_qubo",
    "read_setcover",
    "write_cnf",
    "write_ising",
    "write_knapsack",
    "write_nk",
    "write_qubo",
]
