"""script/published: where published layouts stand among all that run."""

import pathlib
import subprocess
import sys

from conftest import program

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def test_a_published_layout_is_placed_among_all():
    said = subprocess.run([sys.executable, ROOT / "script" / "published", "--program", program(), "--only", "MT-NLG"],
                          capture_output=True, text=True, check=True).stdout
    rows = [line for line in said.splitlines() if line.startswith("| MT-NLG")]
    assert len(rows) == 1
    cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
    # Korthikanti et al. 2022, table 5: 37.8 s a step; nothing that Megatron of that year ran on 280 A100 is much faster.
    assert cells[2].startswith(("yes", "likely")) and float(cells[3].split()[0]) == 37.83 and abs(float(cells[4].split()[0]) / 37.83 - 1) < 0.1
    place, count = cells[6].split(" (")[0].split(" of ")
    assert 1 <= int(place) <= int(count) and float(cells[5].split()[0]) < 5
