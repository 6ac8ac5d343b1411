"""Instance files: one module a format, all on one reader. `problems/file.py` makes problems."""

from harmonium.problems.formats.cnf import Formula, read_formula, write_cnf
from harmonium.problems.formats.formats import FORMATS, SUFFIXES, Format, detect_format
from harmonium.problems.formats.ising import read_ising, write_ising
from harmonium.problems.formats.knapsack import Items, read_knapsack, write_knapsack
from harmonium.problems.formats.maxcut import read_maxcut
from harmonium.problems.formats.nk import Landscape, read_nk, write_nk
from harmonium.problems.formats.pairs import Pairs
from harmonium.problems.formats.qubo import read_qubo, write_qubo
from harmonium.problems.formats.reader import MAX_BYTES, Reader
from harmonium.problems.formats.setcover import Cover, read_setcover

__all__ = [
    "FORMATS",
    "MAX_BYTES",
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
