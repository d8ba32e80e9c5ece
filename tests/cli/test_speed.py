"""script/speed: the page says what was counted and timed, and holds together."""

import subprocess
import sys

from conftest import ROOT, program


def number(cell):
    value, _, unit = cell.partition(" ")
    return float(value.replace(",", "")) * {"ms": 1e-3}.get(unit, 1)


def test_a_page_of_one_model(tmp_path):
    page = tmp_path / "speed.md"
    subprocess.run([sys.executable, ROOT / "script" / "speed", "--program", program(), "--grid", "", "--repeats", "1", "--models",
                    "llama-3.1-8b", "--gpus", "8", "64", "--output", page], check=True, timeout=300)
    lines = page.read_text().splitlines()
    assert lines[0] == "# Speed of the search"
    head, rule, *rows = (line for line in lines if line.startswith("|"))
    assert head.count("|") == rule.count("|") == 11 and len(rows) == 2
    for row, gpus in zip(rows, (8, 64)):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[0] == "llama-3.1-8b" and number(cells[1]) == gpus
        candidates, timed, one, rate = (number(cells[i]) for i in (3, 4, 5, 6))
        assert candidates >= timed >= 1 and abs(candidates / one / rate - 1) < 0.06  # times are rounded to three figures
        assert number(cells[9]) > 0
