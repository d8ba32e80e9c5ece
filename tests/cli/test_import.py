"""`import launch`: a configuration becomes a job, and the job's flags give the configuration again."""

import json

import pytest
from conftest import ROOT, refused

SCRIPT = (ROOT / "examples/pretrain.sh").read_text()


def imported(meshwright, path, *more):
    result = meshwright("import", "launch", path, "--cluster", "dgx-h100", *more)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout), result.stderr


def test_a_megatron_script(meshwright, tmp_path):
    path = tmp_path / "pretrain.sh"
    path.write_text(SCRIPT)
    job, said = imported(meshwright, path)
    assert job["framework"] == "megatron-core" and job["precision"] == "bf16"
    assert (job["gpus"], job["seq_len"], job["global_batch"]) == (64, 8192, 256)
    layout = job["layout"]
    assert (layout["tp"], layout["pp"], layout["micro_batch"], layout["zero_stage"]) == (8, 2, 1, 1)
    assert layout["sequence_parallel"] and layout["overlap_grad_reduce"] and not layout["overlap_param_gather"]
    model = job["model"]
    assert (model["layers"], model["kv_heads"], model["gated_mlp"], model["mlp_bias"]) == (80, 8, True, False)
    assert not model["tied_embeddings"] and model["rotary"]
    assert "lr" in said, "what was not understood is said"
    predicted = tmp_path / "job.json"
    imported_to_file = meshwright("import", "launch", path, "--cluster", "dgx-h100", "--output", predicted)
    assert imported_to_file.returncode == 0 and json.loads(predicted.read_text()) == job
    assert json.loads(meshwright("predict", predicted, "--json").stdout)["step_time_s"] > 0


CONFIGURATIONS = {
    "nanotron.yaml": ("""\
general: {project: mine}
model:
  model_config: {num_hidden_layers: 32, hidden_size: 4096, intermediate_size: 14336, num_attention_heads: 32,
    num_key_value_heads: 8, vocab_size: 128256, tie_word_embeddings: false}
parallelism: {dp: 16, tp: 4, pp: 1, tp_mode: REDUCE_SCATTER, recompute_layer: true}
optimizer: {zero_stage: 1}
tokens: {sequence_length: 4096, micro_batch_size: 2, batch_accumulation_per_replica: 4}
""", "nanotron", {"tp": 4, "micro_batch": 2, "zero_stage": 1, "recompute": "full"}, 128, 4096),
    "titan.toml": ("""\
[training]
seq_len = 8192
local_batch_size = 2
global_batch_size = 128
[parallelism]
data_parallel_shard_degree = 32
tensor_parallel_degree = 2
[activation_checkpoint]
mode = "selective"
""", "torchtitan", {"tp": 2, "micro_batch": 2, "zero_stage": 3, "recompute": "selective"}, 128, 8192),
    "ds_config.json": ("""\
{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2,
 "zero_optimization": {"stage": 3, "overlap_comm": true, "offload_optimizer": {"device": "cpu"}},
 "bf16": {"enabled": true}, "max_seq_length": 4096}
""", "deepspeed", {"micro_batch": 2, "zero_stage": 3, "overlap_grad_reduce": True}, 256, 4096),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_configurations(meshwright, tmp_path, name):
    text, framework, layout, batch, seq_len = CONFIGURATIONS[name]
    path = tmp_path / name
    path.write_text(text)
    job, _ = imported(meshwright, path, "--model", "llama-3.1-8b", "--gpus", "64")
    assert job["framework"] == framework
    assert (job["global_batch"], job["seq_len"]) == (batch, seq_len)
    assert {key: job["layout"].get(key) for key in layout} == layout
    if name == "ds_config.json":
        assert job["recipe"] == {"offload": {"optimizer": True}}


ROUND = [
    ("megatron-core", "llama-3.1-70b", 64, 256, {"tp": 8, "pp": 2, "dp": 4, "vp": 4, "sequence_parallel": True}),
    ("megatron-core", "llama-3.1-8b", 16, 128, {"tp": 2, "cp": 2, "dp": 4, "recompute": "full", "zero_stage": 1}),
    ("megatron-core", "mixtral-8x7b", 64, 256, {"tp": 2, "dp": 32, "ep": 8, "etp": 1, "overlap_param_gather": False}),
    ("megatron-core", "deepseek-v3", 1024, 2048, {"pp": 16, "dp": 64, "ep": 64, "tp": 1, "recompute": "full"}),
    ("nanotron", "llama-3.1-8b", 64, 256, {"tp": 4, "dp": 16, "micro_batch": 2, "zero_stage": 1}),
    ("torchtitan", "llama-3.1-8b", 64, 256, {"tp": 2, "dp": 32, "zero_stage": 3, "micro_batch": 2, "recompute": "full"}),
    ("torchtitan", "llama-3.1-70b", 64, 256, {"tp": 2, "pp": 4, "vp": 16, "dp": 8, "zero_stage": 2}),
    ("torchtitan", "llama-3.1-70b", 64, 256, {"tp": 4, "pp": 2, "vp": 4, "dp": 8, "zero_stage": 2}),
    ("megatron-deepspeed", "llama-3.1-8b", 16, 128, {"tp": 1, "cp": 4, "dp": 4, "zero_stage": 3, "recompute": "selective"}),
    ("megatron-core", "llama-3.1-8b", 16, 128, {"tp": 2, "pp": 2, "dp": 4, "recompute": "full", "recompute_layers": 3}),
    ("maxtext", "mixtral-8x7b", 64, 256, {"pp": 2, "vp": 4, "tp": 1, "dp": 32, "zero_stage": 1}),
    ("torchtitan", "llama-3.1-70b", 64, 256, {"tp": 8, "dp": 8, "zero_stage": 3, "recompute": "selective"}),
    ("deepspeed", "llama-3.1-8b", 64, 256, {"dp": 64, "zero_stage": 3, "micro_batch": 2}),
    ("maxtext", "llama-3.1-8b", 64, 256, {"dp": 64, "zero_stage": 3, "recompute": "full", "micro_batch": 4}),
]


@pytest.mark.parametrize(("framework", "model", "gpus", "batch", "layout"), ROUND)
def test_flags_come_back_as_the_layout(meshwright, tmp_path, framework, model, gpus, batch, layout):
    fixed = ",".join(f"{k}={str(v).lower()}" for k, v in layout.items())
    ask = ["plan", "--model", model, "--cluster", "dgx-h100", "--gpus", gpus, "--global-batch", batch, "--seq-len", 4096,
           "--framework", framework, "--fix", fixed, "--top", 1, "--json", "--flags", meshwright_dialect(framework)]
    planned = meshwright(*ask)
    assert planned.returncode == 0, planned.stderr
    answer = json.loads(planned.stdout)
    path = tmp_path / "launch.sh"
    path.write_text("\n".join(answer["flags"]) + "\n")
    job, _ = imported(meshwright, path, "--model", model, "--gpus", gpus, "--seq-len", 4096)
    assert job["framework"] == framework
    assert (job["global_batch"], job["seq_len"]) == (batch, 4096)
    best = answer["best"]["layout"]
    for key in ("tp", "cp", "pp", "micro_batch", "zero_stage", "recompute", *layout):
        if key in ("vp", "dp", "etp", "sequence_parallel") and key not in job["layout"]:
            continue
        assert job["layout"].get(key, 1 if isinstance(best[key], int) else best[key]) == best[key], key


def test_a_job_file_needs_no_import(meshwright):
    path = "examples/llama-3.1-405b.json"
    refused(meshwright("import", "launch", path, "--cluster", "dgx-h100"), path, "a job file already", f"meshwright predict {path}")


def test_gpus_are_those_of_a_cluster_that_says_how_many(meshwright, tmp_path):
    path, cluster = tmp_path / "args.sh", tmp_path / "mine.yaml"
    path.write_text(ARGUMENTS + "\n")
    cluster.write_text("of: dgx-h100\nnodes: 24\n")
    result = meshwright("import", "launch", path, "--cluster", cluster, "--model", "llama-3.1-8b")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["gpus"] == 192
    fewer = meshwright("import", "launch", path, "--cluster", cluster, "--model", "llama-3.1-8b", "--nodes", 4)
    assert json.loads(fewer.stdout)["nodes"] == 4 and "gpus" not in json.loads(fewer.stdout)
    path.write_text("torchrun --nnodes=2 --nproc-per-node 8 pretrain_gpt.py " + ARGUMENTS + "\n")
    started = meshwright("import", "launch", path, "--cluster", cluster, "--model", "llama-3.1-8b")
    assert json.loads(started.stdout)["gpus"] == 16


def test_a_batch_of_each_device_counts_the_nodes(meshwright, tmp_path):
    path = tmp_path / "maxtext.yaml"
    path.write_text("max_target_length: 8192\nper_device_batch_size: 1\ngradient_accumulation_steps: 16\nici_fsdp_parallelism: 16\nici_tensor_parallelism: 1\nici_pipeline_parallelism: 1\n")
    job, _ = imported(meshwright, path, "--model", "llama-3.1-8b", "--nodes", "2")
    assert (job["global_batch"], job["nodes"], job["layout"]["micro_batch"]) == (256, 2, 1) and "gpus" not in job


# What a launch file says is the layout that it was written for, or it is not written.
LAUNCHED = [
    {"dp": 16, "zero_stage": 0}, {"dp": 16, "zero_stage": 1}, {"dp": 16, "zero_stage": 2}, {"dp": 16, "zero_stage": 3},
    {"tp": 2, "dp": 8, "sequence_parallel": False}, {"tp": 2, "dp": 8, "order": "dp-tp-cp-ep-pp"},
    {"pp": 2, "dp": 8, "stages": [15, 17]}, {"pp": 4, "dp": 4, "schedule": "gpipe"}, {"dp": 16, "recompute": "selective"},
    {"dp": 16, "overlap_grad_reduce": False}, {"dp": 16, "overlap_param_gather": False},
]


@pytest.mark.parametrize(("framework", "ending"), [("megatron-core", "sh"), ("torchtitan", "sh"), ("nanotron", "yaml"), ("maxtext", "yaml"), ("megatron-deepspeed", "sh")])
def test_a_launch_file_is_the_layout_or_refused(meshwright, tmp_path, framework, ending):
    job, launch, again = tmp_path / "job.json", tmp_path / f"launch.{ending}", tmp_path / "again.json"
    written = 0
    for layout in LAUNCHED:
        job.write_text(json.dumps({"model": "llama-3.1-8b", "cluster": "dgx-b200", "nodes": 2, "seq_len": 4096, "global_batch": 64, "framework": framework, "layout": layout}))
        told = meshwright("predict", job, "--json", "--launch", launch)
        if told.returncode != 0:
            assert told.returncode == 1 or "cannot configure" in told.stderr or "cannot number" in told.stderr, told.stderr
            continue
        read = meshwright("import", "launch", launch, "--framework", framework, "--cluster", "dgx-b200", "--nodes", 2, "--model", "llama-3.1-8b")
        assert read.returncode == 0, read.stderr
        again.write_text(read.stdout)
        before, after = json.loads(told.stdout), json.loads(meshwright("predict", again, "--json").stdout)
        assert after["step_time_s"] == pytest.approx(before["step_time_s"], rel=1e-9), layout
        assert after["peak_memory_bytes"] == pytest.approx(before["peak_memory_bytes"], rel=1e-9), layout
        written += 1
    assert written >= 3


def test_a_variable_of_many_words(meshwright, tmp_path):
    path = tmp_path / "pretrain.sh"
    path.write_text('''GPT_ARGS="
    --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 \\
    --num-layers-per-virtual-pipeline-stage 2 --micro-batch-size 1 --global-batch-size 256 --seq-length 4096
"
GPT_ARGS+=" --bf16 --use-distributed-optimizer"
torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py $GPT_ARGS --data-path $DATA 2>&1 | tee run.log
''')
    job, _ = imported(meshwright, path, "--model", "llama-3.1-8b")
    layout = job["layout"]
    assert (job["gpus"], job["precision"]) == (64, "bf16")
    assert (layout["tp"], layout["pp"], layout["vp"], layout["zero_stage"]) == (2, 4, 4, 1)


ARGUMENTS = """--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --micro-batch-size 1 \\
  --global-batch-size 256 --seq-length 4096 --bf16 --use-distributed-optimizer"""
STARTED = {
    "torchrun": ("torchrun --nnodes=4 --nproc-per-node 8 pretrain_gpt.py " + ARGUMENTS, {"gpus": 32}),
    "one node": ("torchrun --nproc-per-node 8 pretrain_gpt.py " + ARGUMENTS, {"gpus": 8}),
    "srun": ("srun -N 4 --ntasks-per-node=8 python pretrain_gpt.py " + ARGUMENTS, {"gpus": 32}),
    "srun, all tasks": ("srun -n 32 python pretrain_gpt.py " + ARGUMENTS, {"gpus": 32}),
    "sbatch under torchrun": ("#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=1  # torchrun starts the rest\n#SBATCH --gres=gpu:a100:8\n"
                              "srun torchrun --nnodes $SLURM_NNODES pretrain_gpt.py " + ARGUMENTS, {"gpus": 32}),
    "nodes alone": ("#!/bin/bash\n#SBATCH -N 4\npython pretrain_gpt.py " + ARGUMENTS, {"nodes": 4}),
}


@pytest.mark.parametrize("how", STARTED)
def test_the_launcher_says_how_many(meshwright, tmp_path, how):
    path = tmp_path / "train.sh"
    text, said = STARTED[how]
    path.write_text(text + "\n")
    job, notes = imported(meshwright, path, "--model", "llama-3.1-8b")
    assert {key: job[key] for key in ("gpus", "nodes") if key in job} == said
    assert "not taken over" not in notes
    # What is said by hand wins.
    assert imported(meshwright, path, "--model", "llama-3.1-8b", "--gpus", 64)[0]["gpus"] == 64


def test_how_many_is_asked_for(meshwright, tmp_path):
    path = tmp_path / "args.sh"
    path.write_text(ARGUMENTS)
    refused(meshwright("import", "launch", path, "--cluster", "dgx-h100", "--model", "llama-3.1-8b"), "args.sh", "--gpus", "--nodes")
    assert imported(meshwright, path, "--model", "llama-3.1-8b", "--nodes", 4)[0]["nodes"] == 4
    assert "torchrun" in meshwright("import", "launch", "--help").stdout


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_ending_of_a_file_says_nothing(meshwright, tmp_path, name):
    text, framework, layout, _, _ = CONFIGURATIONS[name]
    path = tmp_path / "launch.sh"
    path.write_text(text)
    job, _ = imported(meshwright, path, "--model", "llama-3.1-8b", "--gpus", "64")
    assert job["framework"] == framework
    assert {key: job["layout"].get(key) for key in layout} == layout


def meshwright_dialect(framework):
    return {"megatron-core": "megatron"}.get(framework, framework)


@pytest.mark.parametrize(("name", "text", "words"), [
    ("run.sh", "--tensor-model-parallel-size $TP --micro-batch-size 1", ["run.sh:1", "$TP"]),
    ("run.sh", "python train.py --epochs 3", ["no arguments of a known stack"]),
    ("x.yaml", "a: [1, 2", ["x.yaml:"]),
    ("x.toml", "[a\nb = 1", ["x.toml:"]),
    ("x.json", "{", ["x.json"]),
    ("run.sh", "--tensor-model-parallel-size 8 --micro-batch-size 1", ["does not say", "the model (--model)"]),
    ("run.sh", "--tensor-model-parallel-size 8 --micro-batch-size 1 --num-layers 8 --hidden-size 64 --num-attention-heads 8",
     ["the model's vocabulary (vocab_size, or --model)"]),
])
def test_what_cannot_be_read_is_one_line(meshwright, tmp_path, name, text, words):
    path = tmp_path / name
    path.write_text(text)
    result = meshwright("import", "launch", path, "--cluster", "dgx-h100")
    assert result.returncode == 2 and result.stdout == "", result.stdout
    assert len([line for line in result.stderr.splitlines() if line.startswith("meshwright")]) <= 1
    assert all(word in result.stderr for word in words), result.stderr
