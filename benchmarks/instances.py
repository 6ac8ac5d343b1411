"""Speed of instance files, in CPU time: reading, and evaluating a large formula; best of three."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import harmonium as hm

VARIABLES, CLAUSES, ROWS = 10_000, 40_000, 1_000
LINES = 1_000_000


def measure(action: Callable[[], object]) -> float:
    """Return CPU seconds of an action, after one that compiles its kernels."""
    action()
    times = []
    for _ in range(3):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def write_files(folder: Path) -> dict[str, Path]:
    """Write a file of each of five formats, of several megabytes each."""
    rng = np.random.default_rng(1)
    literals = rng.integers(1, VARIABLES + 1, (LINES, 3)) * rng.choice([-1, 1], (LINES, 3))
    pairs = rng.choice(VARIABLES**2, LINES, replace=False)
    triples = [(one + 1, other + 1) for one, other in zip(*divmod(pairs, VARIABLES), strict=True)]
    weights = rng.integers(-100, 101, LINES)
    edges = {(min(pair), max(pair)): weight for pair, weight in zip(triples, weights, strict=True)}
    files = {
        "x.cnf": [f"p cnf {VARIABLES} {LINES}", *(f"{a} {b} {c} 0" for a, b, c in literals)],
        "x.qubo": [f"{VARIABLES} {len(edges)}", *(f"{a} {b} {w}" for (a, b), w in edges.items())],
        "x.nk": ["2000 7", *map(str, (np.arange(2000)[:, None] + np.arange(8)).ravel() % 2000)],
        "x.knapsack": ["1", "10000 100 0", " ".join(map(str, rng.integers(1, 1000, 10_000)))],
    }
    files["x.nk"] += [repr(value) for value in rng.random(2000 * 256).tolist()]
    files["x.knapsack"] += [" ".join(map(str, row)) for row in rng.integers(1, 1000, (100, 10_000))]
    files["x.knapsack"] += [" ".join(["2500000"] * 100)]
    columns = np.sort(rng.integers(1, 1001, (50_000, 10)) + 1000 * np.arange(10))
    files["x.scp"] = ["50000 10000", " ".join(["1"] * 10_000)]
    files["x.scp"] += [line for row in columns for line in ("10", " ".join(map(str, row)))]
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    return {name: folder / name for name in files}


def main() -> None:
    """Print megabytes a second for each format, and the seconds of the formula."""
    with TemporaryDirectory() as folder:
        for name, path in write_files(Path(folder)).items():
            size = path.stat().st_size / 1e6
            seconds = measure(lambda path=path: hm.load(path))  # type: ignore[misc]
            sys.stdout.write(f"{name:12} {size:6.1f} MB {size / seconds:6.0f} MB/s\n")
        rng = np.random.default_rng(2)
        shape = (CLAUSES, 3)
        literals = rng.integers(1, VARIABLES + 1, shape) * rng.choice([-1, 1], shape)
        lines = [f"p cnf {VARIABLES} {CLAUSES}", *(f"{a} {b} {c} 0" for a, b, c in literals)]
        path = Path(folder) / "rows.cnf"
        path.write_text("\n".join(lines) + "\n", "utf-8")
        problem = hm.load(path)
        rows = rng.integers(0, 2, (ROWS, VARIABLES), dtype=np.uint8)
        seconds = measure(lambda: problem(rows))
        sys.stdout.write(
            f"{VARIABLES:,} variables, {CLAUSES:,} clauses: {ROWS:,} rows in {seconds:.3f} s\n"
        )


if __name__ == "__main__":
    main()
