import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium.seeds import check_seed, draw_key, stream


@pytest.mark.parametrize("seed", [-1, np.int64(-5), 1.0, "1", None, True, np.True_, [1]])
def test_a_seed_is_an_integer_from_zero_on(seed: object) -> None:
    for valid in (0, 2**200, np.int64(7), np.uint8(255)):
        assert check_seed(valid) == valid
        assert type(check_seed(valid)) is int
    with pytest.raises(ValueError, match="expected an integer ≥ 0") as caught:
        check_seed(seed)
    assert str(caught.value).startswith(f"seed is {seed!r};")


# What a seed means must never change: these words are those of the first release.
PARTS = {
    "mask": (0xE1AD344AAE410138, 0x5AF540BB69104772),
    "population": (0x162DBE83E1FD6DB5, 0xF3DD9BF316BF951A),
    "selection": (0xDAA1F20119735F54, 0x781A156647655E85),
    "building": (0xAA47AA616A73E95D, 0x504FD7BAB3DF8623),
    "sampling": (0xACC9C1C71F9ED66F, 0x3406D6E3CE90EF58),
    "replacement": (0xC34A6ECEF8AFFE45, 0x5A0A48D70D2CC8CE),
    "repair": (0xF47B3889106D057A, 0xFEF9F6EB6C99384E),
    "mutation": (0x765FBC5F8D010FC3, 0xA66DC9BDA5243769),
}


@pytest.mark.parametrize("part", PARTS)
def test_streams_are_the_same_on_every_machine(part: str) -> None:
    words = tuple(stream(1, part, number).bit_generator.random_raw() for number in (0, 7))
    assert words == PARTS[part]


@given(st.text(), st.integers(0, 2**64), st.integers(1, 2**63))
def test_a_stream_is_the_same_again_and_no_other_is(part: str, seed: int, number: int) -> None:
    names = [(seed, part, 0), (seed, part, number), (seed, f"{part}.", 0), (seed + 1, part, 0)]
    words = [stream(*name).bit_generator.random_raw() for name in names]
    assert words == [stream(*name).bit_generator.random_raw() for name in names]
    assert len(set(words)) == 4


def test_keys_are_64_bits_wide_and_differ() -> None:
    rng = stream(0, "building")
    keys = [draw_key(rng) for _ in range(200)]
    assert all(isinstance(key, np.uint64) for key in keys)
    assert len(set(keys)) == 200
    # Each bit is set in half of the keys; none set in all of 200, or in none, by chance: 2^-193.
    assert np.bitwise_or.reduce(keys) == np.uint64(2**64 - 1)
    assert np.bitwise_and.reduce(keys) == np.uint64(0)
