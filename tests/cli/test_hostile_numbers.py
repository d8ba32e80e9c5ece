"""Numbers out of range, in every file and option that takes one: a clear line, or a right answer."""

import json

import pytest

from cli.hostile import HF, JOB, MODEL, PLAN, refused, Run, write


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"layout": {"tp": 65536, "cp": 65536}}, ["/layout/tp", "65536"]),
        ({"layout": {"tp": 4096, "cp": 65536, "pp": 65536, "dp": 1 << 24}}, ["/layout", "accelerators"]),
        ({"layout": {"tp": 2, "dp": 4, "ep": 65537}}, ["/layout/ep"]),
        ({"layout": {"tp": 2, "dp": 4, "vp": 2147483647}}, ["/layout/vp"]),
        ({"layout": {"tp": 2, "dp": 4, "micro_batch": 2147483647}}, ["/layout/micro_batch"]),
        ({"layout": {"tp": 2, "dp": 4, "stages": [2147483647, 2147483647]}}, ["/layout/stages/0"]),
        ({"model": {**MODEL, "vocab": 2147483647}}, ["vocab", "2147483647"]),
        ({"model": {**MODEL, "layers": 2000000000}}, ["layers", "2000000000"]),
        ({"model": {**MODEL, "hidden": 2147483647}}, ["hidden"]),
        ({"model": {**MODEL, "heads": 1 << 30, "kv_heads": 1 << 30, "head_dim": 128}}, ["heads"]),
        ({"model": {**MODEL, "extra_params": -1e12}}, ["extra_params"]),
        ({"model": {**MODEL, "extra_params_per_layer": -5}}, ["extra_params_per_layer"]),
        ({"model": {**MODEL, "experts": 1 << 30, "top_k": 2, "moe_ffn_hidden": 8}}, ["experts"]),
        ({"model": {**MODEL, "layers": 200000, "pattern": [{"layers": 100000}] * 2}}, ["layers"]),
        ({"cluster": {"node": {"name": "dgx-h100", "accelerators": 4096}, "nodes": 1 << 24}, "nodes": None}, ["accelerators"]),
        ({"nodes": 1 << 24}, ["accelerators"]),
        ({"nodes": 2147483647}, ["/nodes", "2147483647"]),
        ({"cluster": {"node": {"name": "dgx-h100", "nic_bandwidth": "1e308 GB/s"}, "nodes": 1}}, ["nic_bandwidth"]),
        ({"cluster": {"node": {"name": "dgx-h100", "nic_bandwidth": "1e-300 GB/s"}, "nodes": 1}}, ["nic_bandwidth"]),
        ({"cluster": {"node": "dgx-h100", "nodes": 1, "network": {"oversubscription": [1e300]}}}, ["oversubscription"]),
        ({"recipe": {"loss": {"copies": -1e300}}}, ["recipe/loss/copies"]),
        ({"recipe": {"loss": {"chunk_tokens": 2147483647}}}, ["recipe/loss/chunk_tokens"]),
        ({"layout": None}, ["'layout'", "null"]),
        ({"model": None}, ["'model'", "null"]),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else None,
)
def test_numbers_out_of_range(changes, parts, tmp_path):
    refused(Run("predict", write(tmp_path / "job.json", {**JOB, **changes})), *parts)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"num_hidden_layers": 2000000000}, ["num_hidden_layers"]),
        ({"vocab_size": 2147483647}, ["vocab_size"]),
        ({"num_local_experts": [], "num_experts_per_tok": 2}, ["num_local_experts", "empty list"]),
        ({"num_local_experts": 8, "num_experts_per_tok": []}, ["num_experts_per_tok", "empty list"]),
        ({"model_type": "deepseek_v3", "n_routed_experts": 8, "n_shared_experts": 100000000, "num_experts_per_tok": 2,
          "moe_intermediate_size": 100000000, "kv_lora_rank": 4, "qk_nope_head_dim": 4, "qk_rope_head_dim": 4,
          "v_head_dim": 4}, ["config.json"]),
        ({"model_type": "jamba", "mamba_expand": 2147483647, "num_experts": 2, "num_experts_per_tok": 1}, ["config.json"]),
        ({"model_type": "hunyuan", "num_experts": 4, "moe_topk": 1, "num_shared_expert": []}, ["num_shared_expert"]),
        ({"num_attention_heads": 0}, ["num_attention_heads"]),
        ({"model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2, "decoder_sparse_step": 0}, ["at least 1"]),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else None,
)
def test_configurations_out_of_range(changes, parts, tmp_path):
    refused(Run("model", "show", write(tmp_path / "config.json", {**HF, **changes})), *parts)


@pytest.mark.parametrize("measured", [{"step_time_s": 0}, {"step_time_s": -1}, {"mfu": 40}, {"tokens_per_s_per_gpu": 0}, {"peak_mem_gib": -3, "step_time_s": 1}])
def test_measurements_that_are_none(measured, tmp_path):
    record = {
        "id": "r", "model": MODEL, "cluster": {"accelerator": "H100-SXM5-80GB", "count": 8}, "seq_len": 4096,
        "layout": {"framework": "megatron-lm", "tp": 2, "pp": 1, "micro_batch": 1, "global_batch": 64}, "source": {},
        "measured": measured,
    }
    refused(Run("validate", write(tmp_path / "runs.jsonl", record)), "runs.jsonl:1:/measured/", "above 0")


def test_times_of_next_to_nothing(tmp_path):
    record = {"id": "c", "hardware": {"gpu": "H100-SXM5-80GB"}, "ranks": 8, "collective": "all_reduce", "rows": [{"bytes": 8, "time_us": 1e-320}]}
    refused(Run("validate", write(tmp_path / "c.jsonl", record)), "c.jsonl:1:/rows/0", "1e-06")


def test_networks_of_next_to_nothing(tmp_path):
    record = {"id": "c", "hardware": {"gpu": "H100-SXM5-80GB", "nic_gbps": 1e-320}, "ranks": 8, "collective": "all_reduce", "rows": [{"bytes": 8, "time_us": 9}]}
    refused(Run("validate", write(tmp_path / "c.jsonl", record)), "/hardware/nic_gbps")


def test_a_candidate_whose_node_is_a_number(tmp_path):
    scenario = {
        "workloads": [{"name": "w", "model": "llama-3.1-8b", "seq_len": 8, "global_batch": 8, "tokens": "1B"}],
        "candidates": [{"name": "c", "cluster": "dgx-h100", "node": 16, "nic_bandwidth": "200 Gb/s"}],
    }
    refused(Run("whatif", write(tmp_path / "s.json", scenario)), "node", "expected an object")


@pytest.mark.parametrize("factor", [1e-300, 1e-10, 1e-3])
def test_hosts_that_hardly_ever_fail(factor, tmp_path):
    scenario = {
        "workloads": [{"name": "w", "model": "llama-3.1-8b", "seq_len": 4096, "global_batch": 256, "tokens": "100B", "fix": "tp=2,pp=1,cp=1"}],
        "candidates": [{"name": "c", "cluster": "dgx-h100", "nodes": 2}],
        "failures": {"rate_factor": factor},
    }
    run = Run("whatif", write(tmp_path / "s.json", scenario), "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["results"][0]["goodput"] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("start", "duration"), [(-1e6, 10), (-1e300, 10), (0, 0), (1e300, 1e300)])
def test_traces_of_odd_times(start, duration, tmp_path):
    kernel = {"ph": "X", "cat": "kernel", "name": "nvjet_128x256", "ts": start, "dur": duration, "tid": 7, "args": {"stream": 7}}
    trace = write(tmp_path / "t.json", {"traceEvents": [kernel]})
    run = Run("predict", write(tmp_path / "job.json", JOB), "--measured", trace, "--json")
    if run.returncode == 0:
        assert json.loads(run.stdout)["measured"]["ranks"][0]["step_time_s"] == pytest.approx(duration * 1e-6)
    else:
        refused(run, "t.json")


@pytest.mark.parametrize("key", ["tp", "pp", "cp"])
def test_degrees_of_records_out_of_range(key, tmp_path):
    record = {
        "id": "r", "model": MODEL, "cluster": {"accelerator": "H100-SXM5-80GB", "count": 8}, "seq_len": 4096, "source": {},
        "layout": {"framework": "megatron-lm", "tp": 1, "pp": 1, "cp": 1, **{key: 2147483647}}, "measured": {"step_time_s": 1},
    }
    refused(Run("validate", write(tmp_path / "runs.jsonl", record)), f"/layout/{key}")


@pytest.mark.parametrize("size", ["1e308T", "nan", "-1", "inf", "1e400", "9999999T", ""])
def test_message_sizes(size):
    refused(Run("collective", "all_reduce", "--cluster", "dgx-h100", f"--begin={size}"), size or "-b")




@pytest.mark.parametrize("tokens", ["1e-320", "0", "0.5", "nan", "1e19"])
def test_tokens_that_are_none(tokens):
    refused(Run(*PLAN, f"--tokens={tokens}"), "--tokens", tokens)


def test_a_run_of_one_token_has_a_step():
    run = Run(*PLAN, "--tokens=1", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["best"]["run"]["steps"] == 1


def test_a_sweep_of_sizes_ends():
    run = Run("collective", "all_reduce", "--cluster", "dgx-h100", "-b", "1", "-e", "1024T", "-f", "1.01", "--json")
    assert run.returncode == 0
    assert len(json.loads(run.stdout)["rows"]) < 4000


@pytest.mark.parametrize("text", ["1e999,1,1", "1e308,1e308,1e308", "nan,1,1", "0,1,1", "-1,1,1"])
def test_points_of_kernels(text, tmp_path):
    path = write(tmp_path / "points.csv", f"gpu,dtype,m,n,k,latency_s\nh100_sxm,bf16,{text},1e-3\n")
    refused(Run("calibrate", "gemm", path), "points.csv:2")


@pytest.mark.parametrize(
    "node",
    [
        {"accelerator": "H100", "accelerators": 1, "nics": 1024},
        {"accelerator": "H100", "accelerators": 4096},
        {"accelerator": "H100", "accelerators": 8, "scale_up": "switched", "scale_up_domain": 1048576},
        {"accelerator": "H100", "accelerators": 8, "scale_up": "full_mesh", "scale_up_domain": 1024},
    ],
    ids=json.dumps,
)
def test_graphs_that_grow_out_of_hand(node, tmp_path):
    cluster = write(tmp_path / "cluster.json", {"node": node, "nodes": 131072 // node["accelerators"]})
    refused(Run("topo", "show", cluster), "at most")


def test_launch_scripts_whose_counts_multiply_past_every_number(tmp_path):
    arguments = "--num-layers 80 --hidden-size 8192 --num-attention-heads 64 --seq-length 8192 --micro-batch-size 1 --global-batch-size 256 --vocab-size 32000 --ffn-hidden-size 28672"
    script = write(tmp_path / "run.sh", f"torchrun --nproc_per_node 1e308 --nnodes 1e8 pretrain_gpt.py {arguments}\n")
    refused(Run("import", "launch", script, "--cluster", "dgx-h100"), "expected at most 16777216 accelerators")
