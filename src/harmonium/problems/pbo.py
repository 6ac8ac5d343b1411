"""The 25 functions of PBO, the pseudo-Boolean suite of IOHprofiler (Doerr et al. 2020).

They are those of the package `ioh`, which is imported when the first one is made.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from harmonium.arrays import Bits, Fitness
from harmonium.problems.base import ProblemSpec
from harmonium.specs import SpecError

LABS, MIS, QUEENS, TRAP, NK = 18, 22, 23, 24, 25
"""Functions whose optimum `ioh` does not always know."""


@dataclass(frozen=True)
class PBO(ProblemSpec):
    """A function of the suite PBO of `ioh`, with its values."""

    name: ClassVar[str] = "ioh"

    function: Annotated[int, Meta(ge=1, le=25, description="number of the function in PBO")]
    instance: Annotated[int, Meta(ge=1, le=2**31 - 1, description="instance of the function")] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            self._made.meta_data  # noqa: B018  # made now, so that errors are raised here
        except ImportError as error:
            raise SpecError(
                f"ioh: the package `ioh` cannot be imported ({error}); install harmonium[ioh]"
            ) from None
        except (IndexError, RuntimeError, ValueError) as error:
            raise SpecError(
                f"ioh: function {self.function} does not have length {self.length}: {error}"
            ) from None

    @cached_property
    def _made(self) -> Any:
        import ioh  # noqa: PLC0415  # optional

        kind = ioh.ProblemClass.PBO
        return ioh.get_problem(self.function, self.instance, self.length, kind)

    @property
    def function_name(self) -> str:
        """The name that `ioh` gives the function."""
        return str(self._made.meta_data.name)

    @property
    def optimum(self) -> float | None:
        """The optimum that `ioh` states; none where it has none, or one that is not true."""
        unknown = (
            self.function in (LABS, NK)
            or (self.function == MIS and self.instance > 1)
            or (self.function == QUEENS and self.length < 16)
            or (self.function == TRAP and self.length % 5 > 0)
        )
        stated = float(self._made.optimum.y)
        return None if unknown or not math.isfinite(stated) else stated

    @property
    def structure(self) -> None:
        """Not known: `ioh` does not tell."""
        return None

    def evaluate(self, bits: Bits) -> Fitness:
        return np.array(self._made(bits.tolist()) if len(bits) else (), dtype=np.float64)
