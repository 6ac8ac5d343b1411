"""Attack studies and searches until the time is over; print what was found.

A failure names its attack and the seed: `python -m tests.torture --attack kill_search:17` repeats
it.
"""

import argparse
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.torture.attacks import ATTACKS
from tests.torture.world import World


def main() -> int:
    """Attack; return 0 if nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to attack")
    parser.add_argument("--seed", type=int, default=1, help="seed of the attacks")
    parser.add_argument("--attack", help="one attack again, as a failure names it: kill_search:17")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "world", random.Random(0))  # noqa: S311
        world.prepare()
        if options.attack:
            name, _, seed = options.attack.partition(":")
            survived = [attack(world, name, int(seed))]
        else:
            survived = attack_for(world, options.minutes, options.seed)
    report(f"seed {options.seed}: attacks {len(survived)}, survived {sum(survived)}")
    return 0 if all(survived) else 1


def attack_for(world: World, minutes: float, seed: int) -> list[bool]:
    """Attack at random until the time is over, each kind at least once if there is time."""
    rng = random.Random(seed)  # noqa: S311
    names = rng.sample(list(ATTACKS), len(ATTACKS))
    weights = [weight for _, weight in ATTACKS.values()]
    survived = []
    deadline = time.monotonic() + 60 * minutes
    while time.monotonic() < deadline:
        name = names.pop() if names else rng.choices(list(ATTACKS), weights)[0]
        survived.append(attack(world, name, rng.randrange(10**9)))
    return survived


def attack(world: World, name: str, seed: int) -> bool:
    """Attack once, and remove what is left; return whether nothing was found."""
    world.rng = random.Random(seed)  # noqa: S311
    try:
        ATTACKS[name][0](world)
    except Exception:  # noqa: BLE001  # any is a failure
        report(f"{name}:{seed}: {traceback.format_exc()}")
        return False
    finally:
        for path in world.folder.iterdir():
            if path.name.startswith(("attacked", "die", "ready")):
                path.unlink()
    return True


def report(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
