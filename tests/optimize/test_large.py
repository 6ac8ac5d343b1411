"""Very many bits: refused in one line, and no more memory than needed."""

import pytest

import harmonium as hm

LENGTH = 5_000_000
"""So many bits that a matrix of all pairs is larger than any address space."""


def test_too_many_bits_are_refused_in_one_line() -> None:
    with pytest.raises(MemoryError) as caught:
        hm.maximize(sum, LENGTH, seed=1)
    assert str(caught.value) == (
        "5,000,000 bits are too many for structure in this memory; the model umda needs far "
        "less, or choose a smaller space"
    )


def test_a_length_beyond_all_memory_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="length is 1,000,000,000; expected at most 20,000,000 b"):
        hm.maximize(sum, 10**9, seed=1)
