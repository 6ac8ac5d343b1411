"""What is searched: the valid rows, and what the bits stand for."""

from harmonium.space.space import (
    Columns,
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
    "Columns",
    "Feasible",
    "Fixed",
    "Groups",
    "Space",
    "SubsetSize",
    "as_space",
    "draw_bits",
    "make_space",
]
