"""Launch configurations pass the rules of the release that they name, as read in its sources (file and line beside each rule):
argument names, asserts, batch products, divisibility. Every stack, dense and MoE, small and large."""

import json

import pytest
from conftest import refused

MODELS = {"llama-3.1-8b": (64, 512), "llama-3.1-405b": (2048, 2048), "mixtral-8x7b": (64, 512), "deepseek-v3": (1024, 2048)}
HEADS = {"llama-3.1-8b": (32, 8, 32), "llama-3.1-405b": (128, 8, 126), "mixtral-8x7b": (32, 8, 32), "deepseek-v3": (128, 128, 61)}
STACKS = [("megatron-core", "megatron"), ("megatron-core", "bridge"), ("megatron-core", "nemo"), ("torchtitan", "torchtitan"),
          ("deepspeed", "deepspeed"), ("nanotron", "nanotron"), ("maxtext", "maxtext"), ("pytorch-fsdp", "accelerate"),
          ("pytorch-fsdp", "fsdp"), ("llm-foundry", "fsdp"), ("megatron-deepspeed", "megatron-deepspeed")]
# What a dialect has no key for is left out of the plan.
MORE = {"nemo": ["--fix", "zero_stage=1,ep_comm_overlap=false"], "deepspeed": ["--exclude", "recompute=selective"], "maxtext": ["--exclude", "zero_stage=2"],
        "accelerate": ["--fix", "zero_stage=3", "--exclude", "ep,recompute=selective"],
        "fsdp": ["--exclude", "tp,cp,ep,zero_stage=1,recompute=selective"]}


# What the import calls a launch file's stack where the profile has another name.
READ_AS = {"bridge": "megatron-bridge", "nemo": "nemo", "fsdp": "llm-foundry"}
# Fields of a layout that every dialect can express, and those that some can.
EVERY = ("tp", "cp", "pp", "dp", "micro_batch", "zero_stage", "recompute", "recompute_layers", "hsdp_shard")


def pairs(flags):
    """{"--num-layers": "32", "--swiglu": None}; "a.b=c" as {"a.b": "c"}."""
    found = {}
    for flag in flags:
        for part in ([flag] if "=" in flag.split(" ")[0] else flag.replace(" --", "\n--").split("\n")):
            if "=" in part.split(" ")[0]:
                key, value = part.split("=", 1)
            else:
                key, _, value = part.partition(" ")
            assert key not in found, f"{key} stands twice"
            found[key] = value or None
    return found


def number(flags, key, usual=1):
    return int(flags.get(key) or usual)


# --- NVIDIA/Megatron-LM d98e8a64dd: megatron/training/arguments.py, and dataclass fields that become arguments
# (megatron/core/transformer/transformer_config.py, model_parallel_config.py, training/config/*.py).
MEGATRON_NAMES = set("""num-layers hidden-size ffn-hidden-size num-attention-heads vocab-size group-query-attention num-query-groups
kv-channels seq-length max-position-embeddings swiglu normalization disable-bias-linear add-qkv-bias qk-layernorm
position-embedding-type untie-embeddings-and-output-weights multi-latent-attention q-lora-rank kv-lora-rank qk-head-dim
qk-pos-emb-head-dim v-head-dim num-experts moe-router-topk moe-ffn-hidden-size moe-shared-expert-intermediate-size
moe-layer-freq moe-router-num-groups moe-router-group-topk moe-router-score-function moe-router-enable-expert-bias moe-grouped-gemm moe-token-dispatcher-type moe-shared-expert-overlap
expert-model-parallel-size expert-tensor-parallel-size overlap-moe-expert-parallel-comm mtp-num-layers micro-batch-size
global-batch-size tensor-model-parallel-size sequence-parallel pipeline-model-parallel-size pipeline-model-parallel-layout
num-virtual-stages-per-pipeline-rank account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split
no-overlap-p2p-communication context-parallel-size cp-comm-type use-tp-pp-dp-mapping use-distributed-optimizer
use-megatron-fsdp data-parallel-sharding-strategy ckpt-format num-distributed-optimizer-instances overlap-grad-reduce
overlap-param-gather optimizer-cpu-offload tp-comm-overlap recompute-granularity recompute-method recompute-num-layers
recompute-modules moe-flex-dispatcher-backend bf16 fp16 fp8-format fp8-recipe fp4-format fp4-recipe""".split())


def layers_of(layout):
    """Layers and stages of "Et*7|t*8|t*7L"."""
    stages = layout.strip("'").split("|")
    count = 0
    for stage in stages:
        text = stage.replace("E", "").replace("L", "").replace("m", "")
        count += 0 if not text else int(text[2:]) if text.startswith("t*") else len(text)
    return count, len(stages)


def megatron(flags, gpus, batch, model):
    assert {key.removeprefix("--") for key in flags} <= MEGATRON_NAMES
    tp, pp, cp = (number(flags, f"--{axis}-parallel-size") for axis in ("tensor-model", "pipeline-model", "context"))
    assert gpus % (tp * pp * cp) == 0  # 597-640: the world divides by the model's ranks
    dp = gpus // (tp * pp * cp)
    micro = number(flags, "--micro-batch-size")
    assert batch == number(flags, "--global-batch-size") and batch % (micro * dp) == 0  # num_microbatches_calculator.py
    layers = number(flags, "--num-layers")
    vp = number(flags, "--num-virtual-stages-per-pipeline-rank")
    if "--pipeline-model-parallel-layout" in flags:
        held, stages = layers_of(flags["--pipeline-model-parallel-layout"])
        assert held == layers and stages % pp == 0  # 945
        vp = stages // pp
    else:
        counted = layers + ("--account-for-embedding-in-pipeline-split" in flags) + ("--account-for-loss-in-pipeline-split" in flags)
        assert counted % pp == 0 and counted // pp % vp == 0  # 968, 997
    if vp > 1:  # 1000-1008
        assert pp > (2 if "--no-overlap-p2p-communication" in flags else 1)
        assert batch // (micro * dp) % pp == 0  # core/pipeline_parallel/schedules.py: interleaving takes groups of pp
    if "--overlap-param-gather" in flags:
        assert "--overlap-grad-reduce" in flags and "--use-distributed-optimizer" in flags  # 1026-1030
    if cp > 1:
        assert number(flags, "--seq-length") % (2 * cp) == 0  # 1336
    if "--sequence-parallel" in flags:
        assert tp > 1
    if "--tp-comm-overlap" in flags:
        assert "--sequence-parallel" in flags  # 1442
    assert number(flags, "--num-attention-heads") % tp == 0
    if "--num-experts" in flags:
        ep, etp = number(flags, "--expert-model-parallel-size"), number(flags, "--expert-tensor-parallel-size")
        assert number(flags, "--num-experts") % ep == 0  # 1657
        assert gpus % (ep * etp * pp) == 0  # core/parallel_state.py: decoder world by expert ranks
        assert tp == 1 or "--sequence-parallel" in flags  # core/transformer/moe: tensor parallel experts need it
        kind = flags.get("--moe-token-dispatcher-type", "alltoall")
        assert kind in ("allgather", "alltoall", "flex")  # core/transformer/transformer_config.py, 891
        if kind == "flex":  # 898; core/transformer/moe/token_dispatcher.py: more than one rank of experts
            assert flags["--moe-flex-dispatcher-backend"] in ("deepep", "hybridep") and ep * etp > 1
    if "--use-megatron-fsdp" in flags:
        assert flags["--ckpt-format"] == "fsdp_dtensor" and "--use-distributed-optimizer" in flags  # 1118-1170


# --- deepspeedai/Megatron-DeepSpeed 207b2d5aad: megatron/arguments.py.
FORK_NAMES = set("""num-layers hidden-size ffn-hidden-size num-attention-heads vocab-size seq-length max-position-embeddings
num-key-value-heads kv-channels swiglu disable-bias-linear untie-embeddings-and-output-weights normalization
use-rotary-position-embeddings num-experts topk expert-interval micro-batch-size global-batch-size
tensor-model-parallel-size sequence-parallel pipeline-model-parallel-size ds-sequence-parallel-size
moe-expert-parallel-size deepspeed zero-stage recompute-granularity recompute-method recompute-num-layers
deepspeed-activation-checkpointing bf16 fp16""".split())


def megatron_deepspeed(flags, gpus, batch, model):
    assert {key.removeprefix("--") for key in flags} <= FORK_NAMES
    tp, pp, cp = (number(flags, key) for key in ("--tensor-model-parallel-size", "--pipeline-model-parallel-size",
                                                 "--ds-sequence-parallel-size"))
    assert gpus % (tp * pp * cp) == 0
    assert batch % (number(flags, "--micro-batch-size") * (gpus // (tp * pp * cp))) == 0
    assert flags.get("--normalization") in (None, "layernorm", "rmsnorm")
    assert cp == 1 or "--sequence-parallel" not in flags  # the help of --ds-sequence-parallel-size
    assert HEADS[model][0] % (tp * cp) == 0


# --- NVIDIA-NeMo/Megatron-Bridge v0.6.0 (067f987df0): src/megatron/bridge/training/config.py; the fields of ConfigContainer
# (962), of Megatron-Core's TransformerConfig below "model", and of DistributedDataParallelConfig below "ddp".
BRIDGE_SECTIONS = {"model", "dataset", "train", "ddp", "dist", "checkpoint", "comm_overlap", "optimizer", "mixed_precision"}
BRIDGE_PRECISIONS = {"bf16_mixed", "fp16_mixed", "bf16_with_fp8_delayed_scaling_mixed", "bf16_with_fp8_current_scaling_mixed",
                     "bf16_with_fp8_subchannel_scaling_mixed", "bf16_with_mxfp8_mixed", "bf16_with_nvfp4_mixed"}


def nvidia_core(flags, gpus, batch, model, at, train):
    """What Bridge and NeMo hand to Megatron-Core."""
    def get(key, usual=1):
        return number(flags, f"{at}.{key}", usual)
    tp, pp, cp = get("tensor_model_parallel_size"), get("pipeline_model_parallel_size"), get("context_parallel_size")
    assert gpus % (tp * pp * cp) == 0  # config.py 1013-1028
    dp = gpus // (tp * pp * cp)
    micro = number(flags, f"{train}.micro_batch_size")
    assert batch == number(flags, f"{train}.global_batch_size") and batch % (micro * dp) == 0
    heads, _, layers = HEADS[model]
    assert heads % tp == 0
    assert (flags[f"{at}.sequence_parallel"] == "True") <= (tp > 1)
    layout = next((value for key, value in flags.items() if key.endswith("pipeline_model_parallel_layout")), None)
    if layout:
        held, stages = layers_of(layout)
        assert held == layers and stages % pp == 0
    else:
        counted = layers + 2 * any(key.endswith("account_for_loss_in_pipeline_split") for key in flags)
        assert counted % (pp * get("virtual_pipeline_model_parallel_size")) == 0
    if f"{at}.expert_model_parallel_size" in flags:
        assert gpus % (get("expert_model_parallel_size") * get("expert_tensor_parallel_size") * pp) == 0


def bridge(flags, gpus, batch, model):
    assert {key.split(".")[0] for key in flags} <= BRIDGE_SECTIONS
    nvidia_core(flags, gpus, batch, model, "model", "train")
    assert flags["mixed_precision"] in BRIDGE_PRECISIONS  # mixed_precision.py 185-421
    assert flags["model.seq_length"] == flags["dataset.seq_length"]
    if flags.get("ddp.use_megatron_fsdp") == "True":  # 1098-1125
        assert flags["checkpoint.ckpt_format"] == "fsdp_dtensor" and flags.get("dist.use_tp_pp_dp_mapping") != "True"


# --- NVIDIA/NeMo, nemo/lightning/pytorch/strategies/megatron_strategy.py: arguments of MegatronStrategy.
def nemo(flags, gpus, batch, model):
    assert {key.split(".")[0] for key in flags} <= {"trainer", "data", "model"}
    assert number(flags, "trainer.devices") * number(flags, "trainer.num_nodes") == gpus
    nvidia_core(flags, gpus, batch, model, "trainer.strategy", "data")


# --- pytorch/torchtitan b5bcd76c66: torchtitan/config/configs.py 36-310 (names), distributed/parallel_dims.py 166-185,
# pipeline_parallel.py 205-270, trainer.py 419.
TITAN_NAMES = {
    "training": "max_context_length num_tokens_per_microbatch_per_dp_rank num_tokens_per_train_step mixed_precision_param",
    "parallelism": "data_parallel_replicate_degree data_parallel_shard_degree fsdp_reshard_after_forward tensor_parallel_degree "
                   "no-enable_sequence_parallel context_parallel_degree pipeline_parallel_degree pipeline_parallel_schedule "
                   "pipeline_parallel_layers_per_stage num_pp_microbatches module_fqns_per_model_part expert_parallel_degree",
    "compile": "enable enable_async_tensor_parallel",
}


def torchtitan(flags, gpus, batch, model):
    known = {f"--{section}.{name}" for section, names in TITAN_NAMES.items() for name in names.split()}
    assert {key for key in flags if key.startswith("--")} <= known
    assert flags.get("--parallelism.fsdp_reshard_after_forward", "default") in ("default", "always", "never")
    if "--compile.enable_async_tensor_parallel" in flags:
        assert "--compile.enable" in flags  # configs.py 307
    degree = {axis: number(flags, f"--parallelism.{axis}_degree") for axis in
              ("data_parallel_replicate", "data_parallel_shard", "tensor_parallel", "context_parallel", "pipeline_parallel")}
    product = 1
    for value in degree.values():
        assert value >= 1
        product *= value
    assert product == gpus  # 182
    heads, kv_heads, layers = HEADS[model]
    tp, pp = degree["tensor_parallel"], degree["pipeline_parallel"]
    assert heads % tp == 0 and (model == "deepseek-v3" or kv_heads % tp == 0)  # ValueError since issue 2574
    dp = degree["data_parallel_replicate"] * degree["data_parallel_shard"]
    a_pass = number(flags, "--training.num_tokens_per_microbatch_per_dp_rank")
    tokens = number(flags, "--training.num_tokens_per_train_step")
    assert tokens == batch * number(flags, "--training.max_context_length") and tokens % (a_pass * dp) == 0
    if pp > 1:
        assert tokens == a_pass * dp * number(flags, "--parallelism.num_pp_microbatches")
        modules = flags.get("--parallelism.module_fqns_per_model_part")
        if modules:
            chunks = json.loads(modules.strip('"').replace("'", '"'))
            assert len(chunks) % pp == 0
            assert sum(name.startswith("layers.") for chunk in chunks for name in chunk) == layers
        elif "--parallelism.pipeline_parallel_layers_per_stage" in flags:
            assert -(-(layers + 2) // number(flags, "--parallelism.pipeline_parallel_layers_per_stage")) % pp == 0


# --- deepspeedai/DeepSpeed edaa722126: deepspeed/runtime/config.py 925-940.
def deepspeed(flags, gpus, batch, model):
    cp, tp = number(flags, "sequence_parallel_size"), number(flags, "tensor_parallel.autotp_size")
    world = gpus // (cp * tp)
    assert gpus % (cp * tp) == 0 and number(flags, "train_batch_size") == batch
    product = number(flags, "train_micro_batch_size_per_gpu") * number(flags, "gradient_accumulation_steps") * world
    assert product == batch  # 937
    assert number(flags, "zero_optimization.stage", 0) in (0, 1, 2, 3)
    assert ("bf16.enabled" in flags) != ("fp16.enabled" in flags)  # 827


# --- huggingface/nanotron 2411b022a7: src/nanotron/config/parallelism_config.py 29-39, config.py 536-549,
# parallel/pipeline_parallel/engine.py 254.
def nanotron(flags, gpus, batch, model):
    tp, pp, dp, cp = (number(flags, f"parallelism.{axis}") for axis in ("tp", "pp", "dp", "context_parallel_size"))
    assert tp * pp * dp * cp == gpus
    heads, kv_heads, _ = HEADS[model]
    assert heads % tp == 0 and kv_heads >= tp  # 536, 542
    accumulation = number(flags, "tokens.batch_accumulation_per_replica")
    assert number(flags, "tokens.micro_batch_size") * accumulation * dp == batch
    assert flags["parallelism.pp_engine"] in ("1f1b", "afab") and accumulation >= pp - 1  # utils_config.py 104-109, 254
    assert flags["parallelism.tp_mode"] in ("ALL_REDUCE", "REDUCE_SCATTER")
    assert number(flags, "optimizer.zero_stage", 0) in (0, 1)


# --- AI-Hypercomputer/maxtext e591f30cbb: src/maxtext/configs/types.py 3458-3479 (batch), base.yml 531 (mesh).
def maxtext(flags, gpus, batch, model):
    mesh = 1
    for axis in ("data", "fsdp", "tensor", "context", "pipeline", "expert"):
        mesh *= number(flags, f"ici_{axis}_parallelism")
    assert mesh == gpus
    assert float(flags["per_device_batch_size"]) * gpus * number(flags, "gradient_accumulation_steps") == batch
    pp = number(flags, "ici_pipeline_parallelism")
    if pp > 1:
        assert batch % number(flags, "num_pipeline_microbatches") == 0
        assert HEADS[model][2] % (pp * number(flags, "num_layers_per_pipeline_stage")) == 0


# --- huggingface/accelerate 16cb6eb80d: src/accelerate/utils/dataclasses.py 1822-1948 (FSDP 2), parallelism_config.py.
def accelerate(flags, gpus, batch, model):
    assert number(flags, "num_processes") == gpus
    sizes = [number(flags, f"parallelism_config.parallelism_config_{axis}_size") for axis in ("dp_replicate", "dp_shard", "tp", "cp")]
    product = 1
    for size in sizes:
        product *= size
    if flags["distributed_type"] == "FSDP":
        assert product == gpus and flags["fsdp_config.fsdp_version"] == "2"
        assert flags["fsdp_config.fsdp_reshard_after_forward"] in ("true", "false")  # 1869: a bool with version 2
        assert "fsdp_config.fsdp_sharding_strategy" not in flags and "fsdp_config.fsdp_use_orig_params" not in flags  # 1932
    a_step = number(flags, "per_device_train_batch_size") * number(flags, "gradient_accumulation_steps")
    assert a_step * gpus // (sizes[2] * sizes[3]) == batch


def fsdp(flags, gpus, batch, model):
    """mosaicml/llm-foundry: the batch divides by devices and micro-batch."""
    assert number(flags, "global_train_batch_size") == batch
    assert batch % (gpus * number(flags, "device_train_microbatch_size")) == 0
    assert flags["fsdp_config.sharding_strategy"] in ("FULL_SHARD", "SHARD_GRAD_OP", "HYBRID_SHARD", "NO_SHARD")


RULES = {f.__name__: f for f in (megatron, megatron_deepspeed, bridge, nemo, torchtitan, deepspeed, nanotron, maxtext, accelerate, fsdp)}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("framework", "dialect"), STACKS, ids=["-".join(dict.fromkeys(stack)) for stack in STACKS])
def test_rules_of_the_release(meshwright, tmp_path, framework, dialect, model):
    gpus, batch = MODELS[model]
    path = tmp_path / "launch"
    more = MORE.get(dialect, [])
    result = meshwright("plan", "--model", model, "--cluster", "dgx-h100", "--gpus", gpus, "--global-batch", batch, "--seq-len",
                        4096, "--framework", framework, "--flags", dialect, "--top", 1, "--json", "--launch", path, *more)
    if result.returncode == 1:
        answer = json.loads(result.stdout)
        assert answer["best"] is None and answer["refused"], "what cannot run says why"
        pytest.skip(f"{framework} runs no layout of {model}: {max(answer['refused'], key=answer['refused'].get)}")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    RULES[dialect.replace("-", "_")](pairs(answer["flags"]), gpus, batch, model)
    text = path.read_text()
    assert "predicted" in text and "assumed" in text
    # How it is started and how ranks are numbered: no launcher's file says either.
    assert f"start {gpus} processes" in text and "ranks in the order tp-" in text
    # Round trip: the file, whatever its name, gives the layout and the step again.
    back = meshwright("import", "launch", path, "--model", model, "--cluster", "dgx-h100", "--gpus", gpus, "--seq-len", 4096)
    assert back.returncode == 0, back.stderr
    job, best = json.loads(back.stdout), answer["best"]["layout"]
    assert (job["global_batch"], job["seq_len"], job["framework"]) == (batch, 4096, READ_AS.get(dialect, framework))
    job["framework"] = framework  # another profile where a dialect serves two
    written = tmp_path / "job.json"
    written.write_text(json.dumps(job))
    result = meshwright("predict", written, "--json")
    assert result.returncode == 0, result.stderr
    predicted = json.loads(result.stdout)
    layout = predicted["layout"]
    depends = {"vp": best["pp"] > 1, "ep": best["ep"] > 1, "sequence_parallel": best["tp"] > 1}
    for key in EVERY + tuple(key for key, counts in depends.items() if counts):
        assert layout.get(key) == best.get(key), key
    assert predicted["step_time_s"] == pytest.approx(answer["best"]["step_time_s"], rel=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_a_megatron_file_says_its_model(meshwright, tmp_path, model):
    """Without --model: sizes, layout and step come back from the file alone."""
    gpus, batch = MODELS[model]
    path = tmp_path / "launch.sh"
    ask = ["--cluster", "dgx-h100", "--gpus", gpus]
    planned = meshwright("plan", "--model", model, *ask, "--global-batch", batch, "--seq-len", 4096, "--top", 1, "--json",
                         "--launch", path)
    assert planned.returncode == 0, planned.stderr
    written = tmp_path / "job.json"
    back = meshwright("import", "launch", path, *ask, "--output", written)
    assert back.returncode == 0, back.stderr
    result = meshwright("predict", written, "--json")
    assert result.returncode == 0, result.stderr
    expected = json.loads(planned.stdout)["best"]["step_time_s"]
    assert json.loads(result.stdout)["step_time_s"] == pytest.approx(expected, rel=1e-9)


def test_a_plan_with_flags_has_them(meshwright):
    """The best of the layouts that the launcher has keys for, where the best of all is not one; what it cannot say of the job is an error."""
    ask = ["plan", "--model", "llama-3.1-8b", "--cluster", "dgx-h100", "--gpus", 64, "--global-batch", 512, "--seq-len", 8192, "--top", 1, "--json"]
    stack = ["--framework", "pytorch-fsdp"]
    free = json.loads(meshwright(*ask, *stack).stdout)["best"]
    said = json.loads(meshwright(*ask, *stack, "--flags", "fsdp").stdout)
    assert said["flags"] and said["stated"] == ["flags of fsdp"] and said["refused"]["flags of fsdp"] > 0
    assert said["best"]["layout"] != free["layout"] and said["best"]["step_time_s"] >= free["step_time_s"]
    refused(meshwright(*ask, "--framework", "torchtitan", "--precision", "fp8", "--flags", "torchtitan"), "--flags", "fp8")
