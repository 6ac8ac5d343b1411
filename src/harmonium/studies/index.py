"""Where stored trials belong in their study: by what they are, not by when they were run."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from harmonium.studies.plans import Case, State, Walk
from harmonium.studies.store import Stored
from harmonium.studies.summary import find_state, group_walks
from harmonium.studies.tables import Plain
from harmonium.studies.trial import Trial


class Place(NamedTuple):
    """Where a stored trial belongs in its study; none if that is unknown."""

    name: str | None = None
    """Name of its algorithm in the study."""
    family: str | None = None
    counted: bool | None = None
    """Whether it is one of the runs behind the summary."""
    current: bool | None = None
    """Whether the study as it is now includes it."""
    row_state: str | None = None
    """State of its row, the problem size and algorithm: "done", "unfinished" and so on."""


class Index:
    """Finds where stored trials belong, by what they are and not by when they were run.

    A trial belongs to the study as it is now if a case has the same problem, algorithm (both with
    the same source), stopping rules and seed; on a grid also the same population.
    """

    def __init__(self, walks: Sequence[Walk]) -> None:
        self.left_out: set[str] = set()
        """Keys of the trials that were left out because the study no longer includes them."""
        self._cases: dict[tuple[str, int | None], Case] = {}
        self._frames: dict[str, tuple[Case | None, Place]] = {}
        self._families: dict[str, str] = {}
        self._names: dict[str, str] = {}
        for case in (walk.case for walk in walks):
            frame = decode(Trial(case.problem, case.algorithm, case.stop, 0).frame)
            where = _identify(frame, case.plan.name), getattr(case.plan, "population", None)
            known = self._cases.setdefault(where, case)
            if len(known.seeds) < len(case.seeds):  # the same case under another name
                self._cases[where] = case
            self._families.setdefault(encode(_without_sources(frame["problem"])), case.family)
            self._names.setdefault(_name_key(frame["algorithm"]), case.name)
        self._states = find_row_states(walks)
        self._counted = {
            trial.key
            for walk in walks
            if walk.found and walk.found.measured
            for trial in walk.found.measured.trials
        }

    def find(self, stored: Stored) -> Place:
        """Return where a trial belongs; for an old one, family and name if they are known."""
        if stored.frame not in self._frames:
            self._frames[stored.frame] = self._find_frame(decode(stored.frame))
        case, old = self._frames[stored.frame]
        if case and stored.seed in case.seeds:
            counted, state = stored.key in self._counted, self._states[locate(case)]
            return Place(case.name, case.family, counted, True, state)
        return old

    def _find_frame(self, frame: Plain) -> tuple[Case | None, Place]:
        """Return the case of trials that differ only in their seeds, and the place of old ones."""
        population = frame["algorithm"].get("population")
        candidates = [
            (_identify(frame, "runs"), None),
            (_identify(frame, "bisect"), None),
            (_identify(frame, "grid"), population),
        ]
        case = next((self._cases[one] for one in candidates if one in self._cases), None)
        family = self._families.get(encode(_without_sources(frame["problem"])))
        return case, Place(self._names.get(_name_key(frame["algorithm"])), family, False, False)


def name_state(state: State) -> str:
    """Return the word for a state when a running driver cannot be detected."""
    return "unfinished" if state == "running" else state


Location = tuple[str, int, str, int | None]


def find_row_states(walks: Sequence[Walk]) -> dict[Location, str]:
    """Return the state of each row."""
    return {locate(group[0].case): name_state(find_state(group)[0]) for group in group_walks(walks)}


def locate(case: Case) -> Location:
    """Return the row of a case: family, size, name and the population of a grid."""
    return case.family, case.size, case.name, getattr(case.plan, "population", None)


def _identify(frame: Plain, plan: str) -> str:
    """Return a frame as a text; of a plan that sets the population without it."""
    algorithm = dict(frame["algorithm"])
    if plan != "runs":
        algorithm.pop("population", None)
    return f"{plan} {encode({**frame, 'algorithm': algorithm})}"


def _name_key(algorithm: Plain) -> str:
    """Return an algorithm as a text without its population and the state of its modules."""
    return encode({**_without_sources(algorithm), "population": None})


def _without_sources(plain: Mapping[str, Any]) -> Plain:
    return {
        name: _without_sources(value) if isinstance(value, Mapping) else value
        for name, value in plain.items()
        if name != "source"
    }


def encode(plain: Plain) -> str:
    """Return canonical JSON."""
    return msgspec.json.encode(plain, order="sorted").decode()


def decode(frame: str) -> Plain:
    """Return what a frame says."""
    plain: Plain = msgspec.json.decode(frame)
    return plain
