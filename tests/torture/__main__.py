"""Attack studies and searches until the time is over; print what was found.

A failure names the seed of its attack: `python -m tests.torture --attack SEED` repeats it.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.torture.attacks import ATTACKS, clean
from tests.torture.world import SEARCH, Failure, World, strip

KINDS = ("rows lost", "wrong results", "tracebacks", "hangs")
"""Counts that must be 0."""


def main() -> int:
    """Attack; return 0 if nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to attack")
    parser.add_argument("--seed", type=int, default=1, help="seed of the attacks")
    parser.add_argument("--attack", help="one attack again, as a failure names it: kill_search:17")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "world", random.Random(0))  # noqa: S311
        prepare(world)
        if options.attack:
            name, _, seed = options.attack.partition(":")
            counts = attack(world, name, int(seed))
        else:
            counts = attack_for(world, options.minutes, options.seed)
    total, survived = counts["attacks"], counts["survived"]
    found = ", ".join(f"{kind} {counts[kind]}" for kind in KINDS)
    report(f"seed {options.seed}: attacks {total}, survived {survived}, {found}")
    return 0 if total == survived else 1


def prepare(world: World) -> None:
    """Run the study and the search undisturbed, and keep what they give."""
    world.write()
    run = ("study", "run", "tortured.toml", "--store", "whole.db", "--engine", "serial")
    done = world.call(*run)
    if done.returncode:
        sys.exit(f"the undisturbed study failed: {done.stderr}")
    world.rows = world.read_table("whole.db")
    done = world.call("optimize", *SEARCH, "--checkpoint", "whole.ckpt", "--json")
    if done.returncode:
        sys.exit(f"the undisturbed search failed: {done.stderr}")
    [world.answer] = strip([json.loads(done.stdout)])


def attack_for(world: World, minutes: float, seed: int) -> Counter[str]:
    """Attack at random until the time is over, each kind at least once if there is time."""
    rng = random.Random(seed)  # noqa: S311
    counts: Counter[str] = Counter()
    names = list(ATTACKS)
    rng.shuffle(names)
    weights = [weight for _, weight in ATTACKS.values()]
    deadline = time.monotonic() + 60 * minutes
    while time.monotonic() < deadline:
        name = names.pop() if names else rng.choices(list(ATTACKS), weights)[0]
        counts += attack(world, name, rng.randrange(10**9))
    return counts


def attack(world: World, name: str, seed: int) -> Counter[str]:
    """Attack once; return the counts."""
    world.rng = random.Random(seed)  # noqa: S311
    run, _ = ATTACKS[name]
    try:
        number = run(world)
    except Failure as failure:
        report(f"{name}:{seed}: {failure}")
        return Counter({"attacks": 1, failure.kind: 1})
    finally:
        clean(world.folder)
    return Counter({"attacks": number, "survived": number})


def report(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
