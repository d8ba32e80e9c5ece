"""validate: one record that names something unknown is left out with the reason; a malformed one is bad input."""

import json

RECORD = {
    "id": "r",
    "set": "s",
    "tier": "A",
    "source": {"title": "t", "date": "2025-01"},
    "seq_len": 4096,
    "model": {"name": "m", "layers": 32, "hidden": 4096, "ffn_hidden": 14336, "heads": 32, "kv_heads": 8, "vocab": 128256},
    "cluster": {"accelerator": "H100-SXM5-80GB", "count": 8, "node_size": 8, "scale_up_domain": 8},
    "layout": {"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 64, "framework": "nemo", "precision": "bf16"},
    "measured": {"step_time_s": 6.0},
}
TABLE = {
    "id": "c",
    "hardware": {"gpu": "H100-SXM5-80GB", "gpus_per_node": 8, "nodes": 1},
    "ranks": 8,
    "collective": "all_reduce",
    "rows": [{"bytes": 1 << 30, "time_us": 4000}],
}
GOAL = {"pattern": "linear_bcast", "P": 4, "bytes": 8, "L": 1, "o": 1, "g": 1, "G": 1, "O": 1, "S": 1, "makespan": 1}


def changed(base, **changes):
    return {**base, **{key: {**base[key], **value} if isinstance(value, dict) else value for key, value in changes.items()}}


def validated(meshwright, tmp_path, *records):
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return meshwright("validate", path, "--json")


def test_unknown_names_leave_one_record_out(meshwright, tmp_path):
    unknown = [
        (changed(RECORD, layout={"precision": "fp1"}), "fp1"),
        (changed(RECORD, cluster={"accelerator": "Q9000"}), "Q9000"),
        (changed(TABLE, collective="all_dance"), "all_dance"),
        (changed(TABLE, hardware={"gpu": "Q9000"}), "Q9000"),
        (changed(GOAL, pattern="some_pattern"), "some_pattern"),
    ]
    # A stack that no profile knows is predicted as `generic`, and counted apart.
    other_stack = changed(RECORD, id="other", layout={"framework": "somestack"})
    result = validated(meshwright, tmp_path, RECORD, other_stack, *(record for record, _ in unknown), TABLE)
    assert result.returncode == 0, result.stderr
    reasons = [run["skipped"] for run in json.loads(result.stdout)["runs"] if run["skipped"]]
    assert len(reasons) == len(unknown)
    for _, name in unknown:
        assert any(name in reason for reason in reasons), (name, reasons)
    groups = json.loads(result.stdout)["summary"]["by_group"]
    assert groups["all"]["count"] == 1 and groups["unknown stack:somestack"]["count"] == 1


def test_malformed_records_are_bad_input(meshwright, tmp_path):
    result = validated(meshwright, tmp_path, RECORD, changed(RECORD, layout={"tp": "one"}))
    assert result.returncode == 2
    assert "records.jsonl:2:/layout/tp" in result.stderr


def test_a_stack_that_no_profile_knows_is_counted_apart(meshwright, tmp_path):
    result = validated(meshwright, tmp_path, RECORD, changed(RECORD, layout={"framework": "somestack"}))
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert [run["skipped"] for run in document["runs"]] == [None, None]
    assert sum(document["runs"][1]["predicted"]["breakdown"].values()) > 0
    groups = document["summary"]["by_group"]
    assert groups["all"]["count"] == 1
    assert groups["unknown stack:somestack"]["count"] == 1


def test_a_job_with_a_layout_and_what_was_measured_is_a_job(meshwright, tmp_path):
    job = {
        "model": "llama-3.1-8b",
        "cluster": {"node": "dgx-h100", "nodes": 1},
        "seq_len": 8192,
        "global_batch": 16,
        "layout": {"tp": 1, "dp": 8},
        "measured": {"tokens_per_s_per_gpu": 8192},
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    for path in (tmp_path / "job.json", None):
        result = meshwright("validate", path, "--json") if path else validated(meshwright, tmp_path, job)
        assert result.returncode == 0, result.stderr
        (run,) = json.loads(result.stdout)["runs"]
        assert run["set"] == "own" and run["measured"]["step_time_s"] == 2.0
    result = validated(meshwright, tmp_path, changed(job, seq_len=None))
    assert result.returncode == 2
    assert "records.jsonl:1: 'seq_len' is null" in result.stderr


def test_promise_plans_what_vendors_tuned(meshwright, tmp_path):
    tuned = changed(RECORD, id="best", set="nemo")
    slower = changed(RECORD, id="slower", set="nemo", measured={"step_time_s": 9.0})
    ordinary = changed(RECORD, id="ordinary", set="someone", layout={"global_batch": 128})
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in (slower, tuned, ordinary)))
    result = meshwright("validate", "--promise", path, "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    (job,) = document["jobs"]
    assert job["id"] == "best" and job["measured_s"] == 6.0
    assert job["planned_s"] <= job["predicted_of_it_s"]
    assert document["summary"]["dense"]["median"] == job["planned_s"] / 6.0 and document["summary"]["moe"]["count"] == 0
    assert "dense" in meshwright("validate", "--promise", path).stdout
