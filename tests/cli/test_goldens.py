"""What the program prints, kept as files: `pytest tests/cli --update` writes them anew."""

import json
import pathlib
import re

import pytest

HERE = pathlib.Path(__file__).resolve().parent
CASES = json.loads((HERE / "goldens.json").read_text())


def settled(text: str) -> str:
    """The text without what differs from run to run."""
    text = re.sub(r"in [0-9.]+ (ms|us|s)$", "in TIME", text, flags=re.M)
    return re.sub(r'"search_time_s": [0-9.e+-]+', '"search_time_s": TIME', text)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_golden(case, meshwright, request):
    result = meshwright(*case["args"], environ={"COLUMNS": "100"})  # as on a terminal
    assert result.returncode == case.get("exit", 0), result.stderr
    golden = HERE / "goldens" / f"{case['name']}.txt"
    shown = settled(result.stdout)
    if request.config.getoption("--update"):
        golden.write_text(shown)
    assert golden.exists(), f"no golden {golden.name}: run with --update and look at it"
    assert shown == golden.read_text()
    if "--json" in case["args"]:
        json.loads(result.stdout)
    else:
        widest = max((len(line) for line in shown.splitlines()), default=0)
        assert widest <= 100, f"{widest} columns"
