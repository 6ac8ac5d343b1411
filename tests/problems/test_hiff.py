import pytest

from harmonium import HIFF
from harmonium.arrays import check_bits
from harmonium.specs import SpecError
from tests.rows import every_row, random_rows


# Single bits always count 1 each; then pairs 2, fours 4, and the eight 8.
@pytest.mark.parametrize(
    ("bits", "fitness"),
    [
        ("01", 2),
        ("11", 4),
        ("0101", 4),
        ("0110", 4),
        ("0011", 4 + 2 + 2),
        ("0001", 4 + 2),
        ("0000", 4 + 4 + 4),
        ("11110000", 8 + 8 + 8),
        ("11111100", 8 + 8 + 4),
        ("01111110", 8 + 4),
        ("11111111", 8 + 8 + 8 + 8),
    ],
)
def test_blocks_of_equal_bits_count_their_size(bits: str, fitness: float) -> None:
    row = [int(bit) for bit in bits]
    opposite = [1 - bit for bit in row]
    assert HIFF(len(row))(check_bits([row, opposite], len(row))).tolist() == [fitness, fitness]


def transcribe(row: list[int]) -> int:
    if len(row) == 1:
        return 1
    half = len(row) // 2
    whole = len(row) if len(set(row)) == 1 else 0
    return whole + transcribe(row[:half]) + transcribe(row[half:])


@pytest.mark.parametrize("length", [2, 8, 64, 512])
def test_fitness_is_the_recursive_definition(length: int) -> None:
    rows = random_rows(50, length, seed=length)
    rows[:10, : length // 2] = 1
    rows[5:15, length // 2 :] = 0
    assert HIFF(length)(rows).tolist() == [transcribe(row) for row in rows.tolist()]


def test_only_all_zeros_and_all_ones_are_best() -> None:
    problem = HIFF(8)
    rows = every_row(8)
    best = rows[problem(rows) == problem.optimum]
    assert best.tolist() == [[0] * 8, [1] * 8]


def test_the_structure_is_the_blocks_of_every_level() -> None:
    assert HIFF(4).structure == ((0, 1), (2, 3), (0, 1, 2, 3))
    assert HIFF(4).levels == 2


@pytest.mark.parametrize("length", [1, 3, 6, 1000])
def test_the_length_is_a_power_of_two(length: int) -> None:
    message = f"hiff: length is {length}; expected a power of 2, at least 2"
    with pytest.raises(SpecError, match=message):
        HIFF(length)
