"""The attacks: each harms a study or a search, and checks that nothing is lost or wrong."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from tests.cli.commands import assert_refused, call_here, find_marked
from tests.torture.world import RUN, SEARCH, World, find_workers, wait_for

FLIPS = 20
"""Damaged copies of a file in one attack."""


def kill_driver(world: World) -> None:
    """SIGKILL the driver of a study some times, anywhere; then finish it."""
    kept: set[str] = set()
    for _ in range(world.rng.randint(1, 3)):
        with world.start(*RUN, "attacked.db", "--workers", "2") as process:
            wait_for(process, lambda: len(find_workers(process)) == 2)
            time.sleep(world.rng.uniform(0.0, 3.0))
            process.kill()
            process.communicate()
        kept |= world.read_keys()
    world.finish_study(kept)


def kill_workers(world: World) -> None:
    """SIGKILL workers of a study, or let a trial kill its own."""
    with world.start(*RUN, "attacked.db", "--workers", "2") as process:
        for _ in range(world.rng.randint(1, 3)):
            if not wait_for(process, lambda: find_workers(process)):
                break
            time.sleep(world.rng.uniform(0.0, 1.0))
            workers = find_workers(process)
            if world.rng.random() < 0.5 or not workers:
                (world.folder / "die").touch()
                continue
            with suppress(ProcessLookupError):
                os.kill(world.rng.choice(workers), signal.SIGKILL)
        _, told = world.read(process)
    assert process.returncode == 0, told
    (world.folder / "die").unlink(missing_ok=True)
    world.finish_study(world.read_keys())


def kill_search(world: World) -> None:
    """SIGKILL a search with a checkpoint some times, anywhere; then finish it."""
    for _ in range(world.rng.randint(1, 3)):
        search = ("optimize", *world.name_search("attacked.ckpt"), "--log", "attacked.log")
        with world.start(*search) as process:
            wait_for(process, (world.folder / "attacked.ckpt").exists)
            time.sleep(world.rng.uniform(0.0, 1.5))
            process.kill()
            process.communicate()
    world.finish_search()


def fill_disk(world: World) -> None:
    """Let a study and a search run out of room; then finish both with enough of it."""
    room = world.rng.choice([0, 1, 1000, 10_000, 30_000, 60_000, 100_000])
    world.call(*RUN, "attacked.db", "--engine", "serial", room=room)
    world.finish_study(world.read_keys())
    world.call("optimize", *world.name_search("attacked.ckpt"), room=room)
    world.finish_search()


def flip_checkpoint(world: World) -> None:
    """Flip bits of a checkpoint, or cut it short, and resume: it is refused in one line."""
    whole = (world.folder / "whole.ckpt").read_bytes()
    for _ in range(FLIPS):
        damaged = bytearray(whole)
        for _ in range(world.rng.choice([1, 1, 1, 8, 64])):
            damaged[world.rng.randrange(len(damaged))] ^= 1 << world.rng.randrange(8)
        if world.rng.random() < 0.1:
            del damaged[world.rng.randrange(len(damaged)) :]
        (world.folder / "attacked.ckpt").write_bytes(damaged)
        resume = (SEARCH[0], "--resume", "attacked.ckpt", "--json")
        assert_refused(call_here("optimize", *resume, cwd=world.folder), "attacked.ckpt")


def end_programs(world: World) -> None:
    """Interrupt or terminate a search whose programs sleep; none of them may be left."""
    mark = f"{world.rng.randint(10**6, 10**7)}.{world.rng.randint(0, 10**6)}"
    script = f"sh -c 'touch ready; sleep {mark} & sleep {mark}' sh {{bits}}"
    with world.start("optimize", "--command", script, "--length", "8") as process:
        wait_for(process, (world.folder / "ready").exists)
        time.sleep(world.rng.uniform(0.0, 0.5))
        send = world.rng.choice([os.kill, os.killpg])
        send(process.pid, world.rng.choice([signal.SIGINT, signal.SIGTERM]))
        _, told = world.read(process)
    assert process.returncode == 1, told
    assert not find_marked(mark)


Attack = Callable[[World], None]

ATTACKS: dict[str, tuple[Attack, int]] = {
    "kill_driver": (kill_driver, 3),
    "kill_workers": (kill_workers, 2),
    "kill_search": (kill_search, 3),
    "fill_disk": (fill_disk, 1),
    "flip_checkpoint": (flip_checkpoint, 4),
    "end_programs": (end_programs, 2),
}
"""The attacks by name, and how often each is chosen."""
