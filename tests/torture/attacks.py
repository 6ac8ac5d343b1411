"""The attacks: each harms a study or a search, and checks that nothing is lost or wrong."""

import io
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

from harmonium.cli import execute
from tests.torture.world import (
    SEARCH,
    Failure,
    World,
    check_text,
    find_workers,
    wait_for,
)

Attack = Callable[[World], int]
"""Attacks a world; returns how many attacks that were."""

FLIPS = 20
"""Damaged copies of a file in one attack."""


def kill_driver(world: World) -> int:
    """SIGKILL the driver of a study some times, anywhere; then finish it."""
    kept: set[str] = set()
    kills = world.rng.randint(1, 3)
    for _ in range(kills):
        with _start_study(world) as process:
            wait_for(process, lambda: len(find_workers(process.pid)) == 2)
            time.sleep(world.rng.uniform(0.0, 3.0))
            process.kill()
            process.communicate()
        kept |= world.read_keys("attacked.db")
    world.finish_study("attacked.db", kept)
    return kills


def kill_workers(world: World) -> int:
    """SIGKILL workers of a study, or let a trial kill its own."""
    kills = 0
    with _start_study(world) as process:
        for _ in range(world.rng.randint(1, 3)):
            if not wait_for(process, lambda: find_workers(process.pid)):
                break
            time.sleep(world.rng.uniform(0.0, 1.0))
            kills += 1
            workers = find_workers(process.pid)
            if world.rng.random() < 0.5 or not workers:
                (world.folder / "die").touch()
                continue
            with suppress(ProcessLookupError):
                os.kill(world.rng.choice(workers), signal.SIGKILL)
        told = _read(process)
    check_text(("study", "run"), told)
    if process.returncode:
        raise Failure("wrong results", f"exit code {process.returncode}: {told}")
    (world.folder / "die").unlink(missing_ok=True)
    world.finish_study("attacked.db", world.read_keys("attacked.db"))
    return kills


def kill_search(world: World) -> int:
    """SIGKILL a search with a checkpoint some times, anywhere; then finish it."""
    kills = world.rng.randint(1, 3)
    checkpoint = world.folder / "attacked.ckpt"
    for _ in range(kills):
        begun = checkpoint.exists()
        name = ("--resume" if begun else "--checkpoint", checkpoint.name)
        search = SEARCH[:1] if begun else SEARCH
        with world.start("optimize", *search, *name, "--log", "attacked.log") as process:
            wait_for(process, checkpoint.exists)
            time.sleep(world.rng.uniform(0.0, 1.5))
            process.kill()
            process.communicate()
    world.finish_search(checkpoint.name)
    return kills


def fill_disk(world: World) -> int:
    """Let a study and a search run out of room; then finish both with enough of it."""
    room = world.rng.choice([0, 1, 1000, 10_000, 30_000, 60_000, 100_000])
    run = ("study", "run", "tortured.toml", "--store", "attacked.db", "--engine", "serial")
    world.call(*run, room=room)
    world.finish_study("attacked.db", world.read_keys("attacked.db"))
    world.call("optimize", *SEARCH, "--checkpoint", "attacked.ckpt", room=room)
    world.finish_search("attacked.ckpt")
    return 2


def flip_checkpoint(world: World) -> int:
    """Flip bits of a checkpoint and resume: refused in one line, or with the right result."""
    whole = (world.folder / "whole.ckpt").read_bytes()
    path = world.folder / "attacked.ckpt"
    for _ in range(FLIPS):
        path.write_bytes(_damage(world, whole))
        code, text = _call_here(world, "optimize", SEARCH[0], "--resume", path.name, "--json")
        if code == 0:
            raise Failure("wrong results", "a damaged checkpoint was resumed")
        if text.count("\n") != 1:
            raise Failure("tracebacks", f"a damaged checkpoint is refused with {text!r}")
    return FLIPS


def end_programs(world: World) -> int:
    """Interrupt or terminate a search whose programs sleep; none of them may be left."""
    mark = f"{world.rng.randint(10**6, 10**7)}.{world.rng.randint(0, 10**6)}"
    script = f"sh -c 'touch ready; sleep {mark} & sleep {mark}' sh {{bits}}"
    with world.start("optimize", "--command", script, "--length", "8") as process:
        wait_for(process, (world.folder / "ready").exists)
        time.sleep(world.rng.uniform(0.0, 0.5))
        send = world.rng.choice([os.kill, os.killpg])
        send(process.pid, world.rng.choice([signal.SIGINT, signal.SIGTERM]))
        told = _read(process)
    check_text(("optimize", "--command"), told)
    if process.returncode != 1:
        raise Failure("wrong results", f"exit code {process.returncode}: {told}")
    left = subprocess.run(["pgrep", "-f", f"sleep {mark}"], capture_output=True, check=False)  # noqa: S607
    if left.stdout:
        raise Failure("wrong results", "programs are left behind")
    return 1


def _start_study(world: World):  # type: ignore[no-untyped-def]  # a context manager
    store = ("--store", "attacked.db", "--workers", "2")
    return world.start("study", "run", "tortured.toml", *store)


def _read(process: "subprocess.Popen[str]") -> str:
    try:
        return "".join(process.communicate(timeout=300))
    except subprocess.TimeoutExpired:
        raise Failure("hangs", "a command does not end") from None


def _damage(world: World, whole: bytes) -> bytes:
    """Return a copy with some bits flipped, or cut short."""
    damaged = bytearray(whole)
    if world.rng.random() < 0.1:
        return bytes(damaged[: world.rng.randrange(len(damaged))])
    for _ in range(world.rng.choice([1, 1, 1, 8, 64])):
        damaged[world.rng.randrange(len(damaged))] ^= 1 << world.rng.randrange(8)
    return bytes(damaged)


def _call_here(world: World, *arguments: str) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it says on standard error."""
    shown, told = io.StringIO(), io.StringIO()
    try:
        with chdir(world.folder), redirect_stdout(shown), redirect_stderr(told):
            code = execute(arguments)
    except Exception as error:  # any is a traceback for the user
        raise Failure("tracebacks", f"{' '.join(arguments)}: {error!r}") from error
    check_text(arguments, told.getvalue())
    return code, told.getvalue()


def clean(folder: Path) -> None:
    """Remove what an attack has left."""
    for path in folder.iterdir():
        if path.name.startswith(("attacked", "die", "ready")):
            path.unlink()


ATTACKS: dict[str, tuple[Attack, int]] = {
    "kill_driver": (kill_driver, 3),
    "kill_workers": (kill_workers, 2),
    "kill_search": (kill_search, 3),
    "fill_disk": (fill_disk, 1),
    "flip_checkpoint": (flip_checkpoint, 4),
    "end_programs": (end_programs, 2),
}
"""The attacks by name, and how often each is chosen."""
