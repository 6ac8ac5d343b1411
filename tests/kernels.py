"""Compile the kernels of all models once: `make test` does it before its processes need them.

Otherwise each process of the test suite compiles most of them, while the others do the same. Where
they are compiled already, this takes a few seconds. Two processes share the work: models with
layers share kernels, and so do the others.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from harmonium import EDA, MODELS, Algorithm, Pyramid, Stop, Structure, Trap, run

LAYERED = ("rbm", "rbm-paper", "dbn", "dbm", "dae", "helmholtz")


def use(algorithms: Sequence[Algorithm]) -> None:
    """Run algorithms for a few generations, which compiles what they need."""
    for algorithm in algorithms:
        run(Trap(12, 4), algorithm, stop=Stop(max_evaluations=100), seed=1)


def main() -> None:
    edas = {model.name: EDA(model(), population=20) for model in MODELS}
    layered = [edas.pop(name) for name in LAYERED]
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(use, (layered, [*edas.values(), Pyramid(), Structure()])))


if __name__ == "__main__":
    main()
