"""Runs beside predictions, from Python."""

import json

import pytest
from conftest import ROOT

import meshwright as mw


@pytest.fixture(scope="module")
def own_run(tmp_path_factory):
    job = mw.Job(model=mw.model("llama-3.1-8b"), cluster=mw.cluster("dgx-h100", nodes=2), seq_len=8192, global_batch=64)
    layout = mw.Layout(tp=2, dp=8)
    file = tmp_path_factory.mktemp("runs") / "mine.json"
    measured = {"step_time_s": 1.25 * mw.predict(job, layout).step_time}
    file.write_text(json.dumps({**job.to_dict(), "layout": layout.to_dict(), "measured": measured}))
    return file


def test_published_runs_are_those_of_the_command_line(meshwright):
    validation = mw.validate()
    assert validation.to_dict() == json.loads(meshwright("validate", "--json").stdout)
    assert len(validation) == len(validation.to_frame()) == validation.to_dict()["summary"]["count"]
    assert validation.groups["all"]["count"] > 50
    assert "headline" in validation._repr_html_()


def test_a_run_of_ones_own(own_run, meshwright):
    row = mw.validate(own_run).rows[0]
    assert row["relative_error"]["step_time"] == pytest.approx(1 / 1.25 - 1)
    assert mw.validate([own_run]).to_dict() == json.loads(meshwright("validate", own_run, "--json").stdout)


def test_files_without_runs_are_refused(tmp_path):
    (tmp_path / "none.jsonl").write_text('{"record": "graph"}\n')
    for call in (mw.validate, mw.calibrate):
        with pytest.raises(mw.Error, match="none.jsonl"):
            call(tmp_path / "none.jsonl")


def test_calibration_is_an_overlay(own_run, tmp_path):
    fitted = mw.calibrate(own_run)
    assert max(row["told"] for row in fitted) > 0.05 and max(row["told"] for row in fitted) <= 1
    assert fitted.errors["runs"] == 1 and fitted.errors["mean_ape_after"] < fitted.errors["mean_ape_before"]
    overlay = fitted.write(tmp_path / "overlay").parent
    job = mw.Job(model=mw.model("llama-3.1-8b"), cluster=mw.cluster("dgx-h100", nodes=2), seq_len=8192, global_batch=64)
    cluster = mw.cluster("dgx-h100", nodes=2, hardware=overlay)
    ours = mw.Job(model=job.model, cluster=cluster, seq_len=8192, global_batch=64)
    layout = mw.Layout(tp=2, dp=8)
    before, after = mw.predict(job, layout), mw.predict(ours, layout)
    measured = 1.25 * before.step_time
    assert before.step_time < after.step_time <= measured * 1.02, "the run was slower than predicted"
    assert mw.validate(own_run, hardware=overlay).groups["all"]["mape"] < 0.2


def test_a_log_takes_what_it_does_not_say(meshwright):
    log = ROOT / "examples/megatron-core.log"
    with pytest.raises(mw.Error, match="does not say the cluster"):
        mw.validate(log)
    before = mw.validate(log, cluster="dgx-h100").rows[0]["relative_error"]["step_time"]
    fitted = mw.calibrate(log, cluster="dgx-h100")
    assert fitted.errors["mean_ape_before"] == pytest.approx(abs(before)) and fitted.errors["mean_ape_after"] < abs(before) / 2
