"""`calibrate runs` and what `--hardware` makes of it."""

import json

from conftest import ROOT, refused

LOG = ROOT / "examples/megatron-core.log"
JOB = ("--model", "llama-3.1-8b", "--cluster", "dgx-h100", "--nodes", "8", "--global-batch", "256", "--seq-len", "8192")


def test_own_runs_become_an_overlay(meshwright, tmp_path):
    result = meshwright("calibrate", "runs", LOG, "--cluster", "dgx-h100", "--output", tmp_path / "mine", "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["fit"]["mean_error_after"] < 0.5 * document["fit"]["mean_error_before"]
    for figure in document["fit"]["figures"]:
        assert 0 <= figure["told"] <= 1
        assert figure["log_spread_after"] <= figure["log_spread_before"] * 1.001
    known = document["frameworks"][-1]["own_runs"]
    assert len(known["covariance"]) == len(known["figures"]) == len(document["fit"]["figures"])
    reductions = [run["reduction"] for run in document["next"]]
    assert reductions == sorted(reductions, reverse=True) and reductions[0] > 0

    def plan(*before):
        return json.loads(meshwright(*before, "plan", *JOB, "--json").stdout)["best"]

    def width(best):
        return best["p90_s"] / best["p10_s"]

    assert width(plan("--hardware", tmp_path / "mine")) < width(plan())


def test_the_overlay_is_used_as_it_is_said(meshwright, tmp_path):
    (tmp_path / "job.json").write_text("{}")  # a folder of other files
    written = meshwright("calibrate", "runs", LOG, "--cluster", "dgx-h100", "--output", "own.json", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert "wrote own.json; use it with --hardware own.json" in written.stderr.splitlines()
    assert meshwright("hardware", "list", "--hardware", "own.json", cwd=tmp_path).returncode == 0


def test_own_runs_are_told_figure_by_figure(meshwright):
    result = meshwright("calibrate", "runs", LOG, "--cluster", "dgx-h100", environ={"COLUMNS": "100"})
    assert result.returncode == 0, result.stderr
    assert "told %" in result.stdout and "measured next" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_runs_that_cannot_be_predicted_say_why(meshwright, tmp_path):
    record = json.loads((ROOT / "data/runs/published.jsonl").read_text().splitlines()[0])
    record["cluster"]["accelerator"] = "Q9000"
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(record) + "\n")
    refused(meshwright("calibrate", "runs", path), "mine.jsonl", "Q9000")


def test_plans_say_what_they_cannot_tell_apart(meshwright):
    plan = json.loads(meshwright("plan", *JOB, "--json").stdout)
    assert plan["best"]["beats_best"] == 0
    assert all(0 <= layout["beats_best"] <= 0.5 and layout["expected_regret"] >= 0 for layout in plan["layouts"])
    assert plan["nearest_run"]["distance"] >= 0
    by_p90 = json.loads(meshwright("plan", *JOB, "--objective", "p90", "--json").stdout)
    values = [layout["value"] for layout in by_p90["layouts"]]
    assert values == sorted(values) and values[0] == by_p90["best"]["p90_s"]
