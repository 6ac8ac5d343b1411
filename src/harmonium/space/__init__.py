"""What is searched: the valid rows, and what the bits stand for."""

from harmonium.space.space import (
    Feasible,
    Fixed,
    Groups,
    Space,
    SubsetSize,
    as_space,
    draw_bits,
    make_space,
)

__all__ = [
    "Feasible",
    "Fixed",
    "Groups",
    "Space",
    "SubsetSize",
    "as_space",
    "draw_bits",
    "make_space",
]
