"""At least one algorithm of each kind, for tests of what every algorithm must do.

Every model and every setting of an EDA is there once, not every model with every setting: models do
not know the settings. `test_snapshot.py` has every model also with interleaved populations.
"""

from typing import Final

from harmonium import (
    BOA,
    EDA,
    MODELS,
    RBM,
    UMDA,
    Algorithm,
    Incremental,
    PaperTree,
    Pyramid,
    Structure,
)
from tests.search.documented import load_documented
from tests.search.one_plus_one import OnePlusOne
from tests.search.searches import SETTINGS

EXAMPLES: Final[list[Algorithm]] = [
    *(EDA(model(), population=20) for model in MODELS),
    *(EDA(model) for model in (UMDA(), BOA(), RBM())),  # interleaved populations
    *(EDA(UMDA(), population=20, **settings) for settings in SETTINGS[1:]),
    Pyramid(),
    Pyramid(newcomers=3, first_newcomers=3, linkage="boa"),
    Structure(),
    Incremental("pbil:rate=0.1,start=half", population=10, best=1),
    PaperTree(population=10),
    OnePlusOne(),
    OnePlusOne(rate=3),
    load_documented(),
]
