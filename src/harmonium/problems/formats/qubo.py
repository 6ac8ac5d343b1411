"""QUBO files: `n m`, then lines `i j q` of a symmetric matrix, as in Biq Mac and MQLib.

Files of the OR-Library have several instances, and their number in the first line.
"""

from typing import IO

from harmonium.problems.formats.pairs import Pairs, make_pairs, read_declared, write_rows
from harmonium.problems.formats.reader import Reader, read_instance_count
from harmonium.problems.formats.stated import read_optimum, write_optimum


def read_qubo(reader: Reader, instance: int = 0) -> Pairs:
    """Read the entries of a matrix; one beside the diagonal stands for two."""
    count = read_instance_count(reader, instance)
    for _ in range(instance + 1):
        length, numbers = read_declared(reader, "entries")
    if instance + 1 == count:
        reader.finish("the last entry")
    return make_pairs(numbers, length, 1, True, read_optimum(reader, "qubo"))


def write_qubo(file: IO[str], pairs: Pairs) -> None:
    """Write the entries of a symmetric matrix."""
    write_optimum(file, "#", "qubo", pairs.optimum)
    file.write(f"{pairs.length} {len(pairs.single) + len(pairs.first)}\n")
    single, first, second = pairs.single + 1, pairs.first + 1, pairs.second + 1
    write_rows(file, zip(single, single, pairs.single_weights, strict=True))
    write_rows(file, zip(first, second, pairs.weights, strict=True))
