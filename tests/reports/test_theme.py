"""Looks: every model has its own, and no two are similar."""

import re
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from harmonium.models import MODELS, Model
from harmonium.reports.theme import KNOWN_STYLES, style_algorithms

THEMES = ("light", "dark")


@pytest.mark.parametrize("model", list(MODELS), ids=lambda model: model.name)
def test_every_model_has_a_look_of_its_own(model: type[Model]) -> None:
    assert style_algorithms([model.name])[model.name] == KNOWN_STYLES[model.name]


def place_colour(colour: str) -> NDArray[np.float64]:
    """Return a colour in OKLab, in which distances are about what eyes see."""
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    cones = np.cbrt(
        linear
        @ [
            [0.4122214708, 0.2119034982, 0.0883024619],
            [0.5363325363, 0.6806995451, 0.2817188376],
            [0.0514459929, 0.1073969566, 0.6299787005],
        ]
    )
    return np.asarray(
        cones
        @ [
            [0.2104542553, 1.9779984951, 0.0259040371],
            [0.7936177850, -2.4285922050, 0.7827717662],
            [-0.0040720468, 0.4505937099, -0.8086757660],
        ]
    )


def test_places_of_colours_are_those_of_oklab() -> None:
    assert place_colour("#ffffff") == pytest.approx([1, 0, 0], abs=1e-6)
    assert place_colour("#ff0000") == pytest.approx([0.628, 0.2249, 0.1258], abs=1e-4)


@pytest.mark.parametrize("dark", [False, True], ids=THEMES)
def test_no_two_looks_have_similar_colours(dark: bool) -> None:
    places = {name: place_colour(style.tone[dark]) for name, style in KNOWN_STYLES.items()}
    for one, other in combinations(places, 2):
        assert np.linalg.norm(places[one] - places[other]) > 0.08, (one, other)


@pytest.mark.parametrize("name", [name for name in KNOWN_STYLES if name != "rbm"])  # a disc
def test_holes_are_inside_of_their_shapes(name: str) -> None:
    outer, inner = (
        np.array(re.findall(r"([^,L]+),([^,LZ]+)", path), dtype=float)
        for path in KNOWN_STYLES[name].shape.hollow.split("M")[1:]
    )
    inner = inner[::-1]
    for place, corner in enumerate(outer):
        side, hole = np.roll(outer, -1, 0)[place] - corner, np.roll(inner, -1, 0) - inner
        assert side @ hole[place] > 0  # no side of the hole is turned round
        assert np.linalg.norm(inner[place] - corner) < 1.3
