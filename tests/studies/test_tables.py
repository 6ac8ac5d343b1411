import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harmonium.analysis.tables import write_csv, write_json
from tests.studies.reading import assert_same, to_csv, to_json

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"))
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False), TEXTS
)
TABLES = st.lists(st.tuples(VALUES, VALUES, VALUES)).map(
    lambda rows: [dict(zip(("a", "b, c", "größe"), row, strict=True)) for row in rows]
)


@given(TABLES)
def test_tables_are_read_as_they_were_written(rows: list[dict[str, Any]]) -> None:
    assert_same(to_csv(rows), rows)
    finite = [
        {name: None if value in (float("inf"), float("-inf")) else value}
        for row in rows
        for name, value in row.items()
    ]
    assert to_json(finite) == finite


def test_a_csv_file_is_a_header_and_a_line_a_row() -> None:
    file = io.StringIO(newline="")
    write_csv([{"a": 1, "b": None}, {"a": 0.1, "b": "x, y"}], file)
    assert file.getvalue().splitlines() == ["a,b", "1,", '0.1,"x, y"']


def test_a_json_file_is_an_array_with_a_line_a_row() -> None:
    file = io.StringIO()
    write_json([{"a": 1, "b": None}, {"a": 0.1, "b": "é"}], file)
    lines = file.getvalue().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("[", "]", 4)
    assert json.loads(lines[1].rstrip(",")) == {"a": 1, "b": None}


def test_no_rows_are_an_empty_file_and_an_empty_array() -> None:
    assert to_csv([]) == []
    assert to_json([]) == []
    file = io.StringIO()
    write_csv([], file)
    assert file.getvalue() == ""
