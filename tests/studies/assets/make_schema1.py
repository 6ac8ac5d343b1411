"""How schema1.db was made: `python -m tests.studies.assets.make_schema1`, at schema 1.

The file is never made again: it stands for the stores that users have.
"""

from pathlib import Path

import msgspec

from harmonium import EDA, UMDA, OneMax, Stop
from harmonium.studies.store import SCHEMA, Store
from harmonium.studies.trial import Record, Trial, execute, read_record

FAILURE = (
    'Traceback (most recent call last):\n  File "own.py", line 3\nValueError: fitness is lost\n'
)


def main() -> None:
    if SCHEMA != 1:
        raise SystemExit("this harmonium writes another schema")
    with Store.create(Path(__file__).with_name("schema1.db")) as store:
        store.note(name="small", seed="1", file='name = "small"\n', folder="")
        for seed in range(1, 5):
            trial = Trial(OneMax(10), EDA(UMDA(), population=16), Stop(), seed)
            store.append(trial, _anonymize(read_record(execute(trial.spec, None)), seed))


def _anonymize(record: Record, seed: int) -> Record:
    """Leave out the machine, and let the last trial fail."""
    plain = msgspec.structs.replace(
        record,
        host="here",
        environment={"harmonium": "0.1.0"},
        started="2026-01-02T03:04:05.678+00:00",
    )
    if seed < 4:
        return plain
    return msgspec.structs.replace(plain, status="failed", result={}, trace={}, error=FAILURE)


if __name__ == "__main__":
    main()
