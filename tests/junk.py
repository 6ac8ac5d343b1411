"""Strategies of hypothesis for arguments of every wrong kind."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays


def make_junk(length: int) -> st.SearchStrategy[Any]:
    """Return a strategy for anything at all, with a few valid rows of bits among it."""
    return st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=3),
        st.binary(max_size=3),
        st.lists(st.integers(-1, 2) | st.floats() | st.none() | st.lists(st.integers(0, 1))),
        st.dictionaries(st.integers(), st.integers(), max_size=2),
        arrays(
            st.sampled_from(["uint8", "int64", "float64", "bool", "complex128", "U1"]),
            array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
        ),
        arrays(np.uint8, st.tuples(st.integers(0, 5), st.just(length)), elements=st.integers(0, 1)),
    )
