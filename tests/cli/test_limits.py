"""script/limits: docs/limits.md holds what records and program give."""

import json
import os
import pathlib
import subprocess
import sys

from conftest import program

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECORD = {
    "set": "s",
    "tier": "A",
    "task": "pretrain",
    "source": {"title": "t", "date": "2025-01"},
    "seq_len": 4096,
    "model": {"name": "m", "layers": 32, "hidden": 4096, "ffn_hidden": 14336, "heads": 32, "kv_heads": 8, "vocab": 128256},
    "cluster": {"accelerator": "H100-SXM5-80GB", "count": 8, "node_size": 8, "scale_up_domain": 8},
    "layout": {"tp": 1, "pp": 1, "dp": 8, "micro_batch": 1, "global_batch": 64, "framework": "nemo", "framework_version": "25.04",
               "precision": "bf16"},
}


def limits(*args):
    return subprocess.run([sys.executable, ROOT / "script" / "limits", "--program", program(), *map(str, args)], capture_output=True,
                          text=True, check=False, timeout=120, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})


def test_the_page_is_what_the_command_writes():
    said = limits("--check")
    assert said.returncode == 0, said.stderr


def test_twins_bound_what_any_prediction_reaches(tmp_path):
    # 11 s suits 10, 11 and 12 s best: 1/10, 0 and 1/12, 6.1 % in the mean. A time published twice counts once.
    runs = [{**RECORD, "id": f"r{i}", "measured": {"step_time_s": seconds}} for i, seconds in enumerate((10.0, 11.0, 12.0, 12.0))]
    # Of another release: a twin only where releases don't count.
    later = {**RECORD["layout"], "framework_version": "25.11"}
    runs.append({**runs[0], "id": "later", "layout": later, "measured": {"step_time_s": 9.0}})
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(run) + "\n" for run in runs))
    said = limits(path)
    assert said.returncode == 0, said.stderr
    row = next(r for r in said.stdout.partition("## twins")[2].splitlines() if r.startswith("| Megatron dense"))
    assert [cell.strip() for cell in row.strip("|").split("|")][1:4] == ["3", "6.1", "4"]
