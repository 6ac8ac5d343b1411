"""Optimise functions of bits by learning what good solutions look like.

The public names are those of `api.py`. They are imported when the first of them is used, so that
the command line is ready for Ctrl-C before it imports anything that takes long.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from harmonium.version import __version__ as __version__

if TYPE_CHECKING:
    from harmonium.api import *  # noqa: F403

    __all__: list[str]


def __getattr__(name: str) -> object:
    """Import all public names, and return the one that was asked for."""
    names = globals()
    if name == "__all__" or not name.startswith("__"):
        api = import_module("harmonium.api")
        public = getattr(api, "__all__", [])  # none while it is being imported
        names |= {each: getattr(api, each) for each in public}
        if public:
            names["__all__"] = [*public, "__version__"]
    if name in names:
        return names[name]
    raise AttributeError(f"module 'harmonium' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names and what has been imported."""
    __getattr__("__all__")
    return sorted(globals())
