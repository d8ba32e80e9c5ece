"""Published planning questions, answered by `plan --tokens` with the best layout: no layout or factor is given."""

import json

import pytest


def planned(meshwright, model, cluster, gpus, batch, seq_len, tokens, *more):
    result = meshwright("plan", "--model", model, "--cluster", cluster, "--gpus", gpus, "--global-batch", batch, "--seq-len", seq_len,
                        "--tokens", tokens, "--json", *more)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["best"]


@pytest.mark.parametrize(("model", "gpus"), [("llama-3.1-70b", 256), ("llama-3.1-405b", 512)])
def test_a_b200_does_the_work_of_two_h100(model, gpus, meshwright):
    # 2.0 to 2.5 in dense training, 2.2 in MLPerf (gpuaas.com, B200 vs H100 cluster sizing, 2026-06-11).
    rate = {c: planned(meshwright, model, c, gpus, 512, 8192, "1T")["tokens_per_s_per_gpu"] for c in ("dgx-h100", "dgx-b200")}
    assert 2.0 <= rate["dgx-b200"] / rate["dgx-h100"] <= 2.5


def test_70b_on_a_whole_pod_of_v5p(meshwright):
    # 15 T tokens on 8,960 chips at 40 % of 459 TFLOP/s take 44 days by 6 N D (jax-ml/scaling-book, applied-training.md);
    # attention adds 6 %.
    best = planned(meshwright, "llama-3.1-70b", "tpu-v5p", 8960, 8960, 4096, "15T", "--framework", "maxtext")
    days = best["run"]["steps"] * best["step_time_s"] / 86400 * best["mfu"] / 0.4
    assert 44 <= days <= 1.1 * 44


def test_one_hundred_thousand_accelerators(meshwright, tmp_path):
    # Five failures of 1,000 nodes and day on 12,500 nodes of 8: one in 23 minutes.
    assume = tmp_path / "assume.json"
    assume.write_text(json.dumps({"failures": {"node_rate": "5 per 1000 node-days"}}))
    run = planned(meshwright, "llama-3.1-405b", "dgx-h100", 100000, 12500, 8192, "15T", "--assume", assume)["run"]
    assert run["mtbf_s"] / 60 == pytest.approx(23.04, rel=0.01)
    assert 0 < run["checkpoint_interval_s"] < run["mtbf_s"] and 0 < run["goodput"] < 0.9
