"""At least one algorithm of each kind, for tests of what every algorithm must do."""

from typing import Final

from harmonium import EDA, MODELS, UMDA, Algorithm, Pyramid, Structure
from tests.algorithms.documented import load_documented
from tests.algorithms.one_plus_one import OnePlusOne
from tests.algorithms.searches import SETTINGS

EXAMPLES: Final[list[Algorithm]] = [
    *(EDA(model(), population=20) for model in MODELS),
    *(EDA(model()) for model in MODELS),
    *(EDA(UMDA(), population=20, **settings) for settings in SETTINGS[1:]),
    *(EDA(UMDA(), **settings) for settings in SETTINGS[1:]),
    Pyramid(),
    Pyramid(newcomers=3, first_newcomers=3, linkage="boa"),
    Structure(),
    OnePlusOne(),
    OnePlusOne(rate=3),
    load_documented(),
]
