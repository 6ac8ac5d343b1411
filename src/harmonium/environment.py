"""Versions, BLAS and machine: what results and times depend on besides the code."""

import os
import platform
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from threadpoolctl import threadpool_info

from harmonium.version import __version__

_PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "msgspec")


@cache
def describe_environment(packages: tuple[str, ...] = ()) -> dict[str, str]:
    """Return machine, BLAS and versions of this process, with those of `packages` if installed."""
    blas = sorted(
        f"{library['internal_api']} {library['version']} for {library.get('architecture')}"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    )
    facts = {
        "machine": f"{platform.system()} {platform.machine()}",
        "processor": _name_processor(),
        "cores": str(os.cpu_count()),
        "blas": " and ".join(dict.fromkeys(blas)),
        "python": platform.python_version(),
        "harmonium": __version__,
    }
    for name in (*_PACKAGES, *packages):
        with suppress(metadata.PackageNotFoundError):
            facts[name] = metadata.version(name)
    return facts


def _name_processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
