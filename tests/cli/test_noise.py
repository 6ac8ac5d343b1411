"""`harmonium optimize` with --noise and --progress-lines."""

import json
from pathlib import Path

from tests.cli.commands import call_here

SEARCH = ("optimize", "numpy:sum", "--length", "8", "--max-calls", "200", "--json")


def test_noise_and_plain_lines(tmp_path: Path) -> None:
    done = call_here(*SEARCH, "--noise", "--progress-lines", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert (result["noisy"], result["fun"], result["fun_error"]) == (True, 8.0, 0.0)
    assert result["evaluations"] < result["calls"] <= 200
    assert result["solutions"][0]["x"] == "1" * 8
    assert done.stderr.startswith("1 of 200 calls · ")
    quiet = call_here(*SEARCH, cwd=tmp_path)
    assert (json.loads(quiet.stdout)["noisy"], quiet.stderr) == (False, "")
