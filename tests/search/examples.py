"""At least one algorithm of each kind, for tests of what every algorithm must do.

Every model and every setting of an EDA is there once, not every model with every setting: models do
not know the settings.
"""

from typing import Any, Final

from harmonium import (
    BOA,
    EDA,
    MODELS,
    RBM,
    UMDA,
    Algorithm,
    Anneal,
    Incremental,
    PaperTree,
    Pyramid,
    Structure,
)
from tests.search.one_plus_one import OnePlusOne, load_documented

SETTINGS: Final[list[dict[str, Any]]] = [
    {"replacement": "worst"},
    {"replacement": "rtr"},
    {"replacement": "rtr-prune"},
    {"pairing": "parent-offspring"},
    {"tournament": 4},
]
"""Settings of an EDA that change how a population is renewed."""

EXAMPLES: Final[list[Algorithm]] = [
    *(EDA(model(), population=20) for model in MODELS),
    *(EDA(model) for model in (UMDA(), BOA(), RBM())),  # interleaved populations
    *(EDA(UMDA(), population=20, **settings) for settings in SETTINGS),
    Pyramid(),
    Pyramid(newcomers=3, first_newcomers=3, linkage="boa"),
    Structure(),
    Anneal(),
    Anneal(rows=3),
    Incremental("pbil:rate=0.1,start=half", population=10, best=1),
    PaperTree(population=10),
    OnePlusOne(),
    OnePlusOne(rate=3),
    load_documented(),
]
