"""Compare our speed with other libraries, each with one thread; takes at most two minutes.

python -m benchmarks.speed [--quick]

`--quick` uses tiny sizes: it shows that everything works, not how fast it is. Peers come with
`pip install 'harmonium[bench]'`; a missing one is skipped.
"""

import argparse
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from harmonium.environment import describe_environment
from harmonium.jit import one_blas_thread

from .boa import measure_networks
from .measure import PEERS, load_peers
from .rbm import measure_training

GROUPS = {"rbm": measure_training, "boa": measure_networks}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="use tiny sizes")
    options = parser.parse_args(arguments)
    peers, skipped = load_peers()  # first: only a BLAS that is loaded can be limited
    table = Table(box=box.SIMPLE_HEAD, title="ratio: how many times better harmonium is")
    for name in ("what", "unit", "against", "ours", "other", "ratio", "bound"):
        table.add_column(name, justify="left" if name in ("what", "unit", "against") else "right")
    with one_blas_thread():
        for measure in GROUPS.values():
            for one in measure(options.quick, peers):
                bound = (
                    "" if one.bound is None else f"≥ {one.bound:g}{'' if one.kept else ' missed'}"
                )
                figures = (f"{value:.3g}" for value in (one.ours, one.peer, one.ratio))
                table.add_row(one.what, one.unit, one.against, *figures, bound)
    console = Console(markup=False)
    setting = describe_environment(tuple(PEERS))
    console.print(", ".join(f"{name} {value}" for name, value in setting.items()))
    console.print(table, *(f"{name}: {reason}" for name, reason in skipped.items()))


if __name__ == "__main__":
    main()
