"""MAX-CUT files in the form of rudy and Gset: `n m`, then lines `i j weight`, one an edge."""

from harmonium.problems.formats.pairs import Pairs, make_pairs, read_declared
from harmonium.problems.formats.reader import Reader
from harmonium.problems.formats.stated import read_optimum


def read_maxcut(reader: Reader) -> Pairs:
    """Read the edges of a graph."""
    length, numbers = read_declared(reader, "edges")
    reader.finish("the last edge")
    return make_pairs(numbers, length, 1, False, read_optimum(reader, "maxcut"))
