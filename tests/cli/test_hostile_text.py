"""Bytes that are no text, control characters, and a stdout that is full or closed."""

import json
import os

import pytest

from cli.hostile import HF, JOB, MODEL, PLAN, refused, Run, write


LOG = "examples/megatron-core.log"
#: What every subcommand prints at length; those that test_every_subcommand_is_there finds in the program.
COMMANDS = {
    "plan": PLAN,
    "predict": ["predict", "examples/llama-3.1-405b.json"],
    "validate": ["validate", LOG, "--cluster", "dgx-h100"],
    "collective": ["collective", "all_reduce", "--cluster", "dgx-h100", "--nodes", 2, "-b", "1M", "-e", "8M"],
    "algorithms": ["algorithms"],
    "topo show": ["topo", "show", "dgx-h100", "--nodes", 2],
    "topo check": ["topo", "check", "dgx-h100", "--nodes", 2],
    "topo import": ["topo", "import", "tests/fuzz/corpus/topology/matrix.txt"],
    "model list": ["model", "list"],
    "model show": ["model", "show", "llama-3.1-8b"],
    "calibrate gemm": ["calibrate", "gemm", "tests/fuzz/corpus/csv/gemm.csv"],
    "calibrate nccl-tests": ["calibrate", "nccl-tests", "tests/fuzz/corpus/nccl-log/all_reduce.log", "--cluster", "dgx-h100"],
    "calibrate runs": ["calibrate", "runs", LOG, "--cluster", "dgx-h100"],
    "calibrate spread": ["calibrate", "spread", "tests/fuzz/corpus/record/run.json"],
    "import launch": ["import", "launch", "examples/pretrain.sh", "--cluster", "dgx-h100", "--gpus", 64],
    "cluster new": ["cluster", "new", "--node", "dgx-h100", "--nodes", 4],
    "cluster check": ["cluster", "check", "examples/cluster.json"],
    "whatif": ["whatif", "tests/fuzz/corpus/scenario/two.json"],
    "hardware list": ["hardware", "list"],
    "hardware show": ["hardware", "show", "dgx-h100"],
    "schema": ["schema", "job"],
    "completion": ["completion", "bash"],
    "man": ["man"],
    "help": ["--help"],
    "help of a command": ["plan", "--help"],
    "version": ["--version"],
    "json": ["model", "list", "--json"],
}


def subcommands(path=()):
    """Every command of the program that has none below it."""
    lines = Run(*path, "--help").stdout.partition("\nSubcommands:\n")[2].splitlines()
    below = [line.split()[0] for line in lines[: lines.index("") if "" in lines else None] if line.startswith("  ") and line[2] != " "]
    return [found for name in below for found in subcommands((*path, name))] or [" ".join(path)]


def test_every_subcommand_is_there():
    found = subcommands()
    assert len(found) > 20 and set(found) <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_stdout(command):
    with open("/dev/full", "w") as full:
        run = Run(*COMMANDS[command], stdout=full)
    assert run.returncode == 74, run.stderr
    assert run.stderr.splitlines()[-1] == "meshwright: cannot write to stdout: No space left on device"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_stdout(command):
    run = Run(*COMMANDS[command], stdout=None, preexec=lambda: os.close(1))
    assert run.returncode == 74, run.stderr
    assert run.stderr.splitlines()[-1].startswith("meshwright: cannot write to stdout: ")


def test_a_closed_stdout_does_not_end_in_a_file(tmp_path):
    run = Run("predict", write(tmp_path / "job.json", JOB), "--trace", tmp_path / "t.json", stdout=None, preexec=lambda: os.close(1))
    assert run.returncode == 74
    assert json.loads((tmp_path / "t.json").read_text())


@pytest.mark.parametrize("name", ["\x1b[31mred\x1b[0m", "bell\x07", "back\x08\x08", "c1\x9b31m", "del\x7f"])
def test_control_characters_of_names(name, tmp_path):
    refused(Run("predict", write(tmp_path / "job.json", {**JOB, "model": {**MODEL, "name": name}})), "/model/name", "control")
    config = tmp_path / f"{name}.json"
    write(config, HF)
    run = Run("model", "show", config)
    assert run.returncode == 0, run.stderr
    assert not [c for c in run.stdout if ord(c) < 32 and c not in "\n" or 127 <= ord(c) < 160]


def test_control_characters_of_notes(tmp_path):
    model = "{num_hidden_layers: 32, hidden_size: 4096, intermediate_size: 14336, num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 128256}"
    tokens = "{sequence_length: 4096, micro_batch_size: 1, batch_accumulation_per_replica: 8}"
    text = f'"\\e[31mred": 1\nmodel: {{model_config: {model}}}\nparallelism: {{dp: 8, tp: 1, pp: 1}}\ntokens: {tokens}\n'
    run = Run("import", "launch", write(tmp_path / "c.yaml", text), "--cluster", "dgx-h100")
    assert run.returncode == 0, run.stderr
    assert "\\u001b[31mred" in run.stderr and "\x1b" not in run.stderr


def test_bytes_that_are_no_text(tmp_path):
    odd = os.fsdecode(b"\xff\xfe.json")
    write(tmp_path / odd, HF)
    for more in ([], ["--json"]):
        run = Run("model", "show", tmp_path / odd, *more)
        assert run.returncode == 0, run.stderr
    refused(Run("plan", "--model", os.fsdecode(b"\xff"), "--cluster", os.fsdecode(b"\xfe"), "--global-batch", 8, "--seq-len", 8), "--model")


ODD = os.fsdecode(b"\xff\xfe")


@pytest.mark.parametrize(
    "args",
    [
        ["cluster", "new", "--nodes", 2, "--node", ODD],
        ["cluster", "new", "--nodes", 2, "--node", "dgx-h100", "--fabric", ODD],
        ["cluster", "new", "--nodes", 2, "--node", "dgx-h100", "--oversubscription", ODD],
        [*PLAN, "--algo", ODD],
        [*PLAN, "--algo", f"all_reduce={ODD}"],
        [*PLAN, "--fix", f"tp={ODD}"],
        ["hardware", "show", ODD],
        ["schema", ODD],
        [ODD],
    ],
    ids=lambda args: " ".join("ODD" if ODD in str(arg) else str(arg) for arg in args),
)
def test_arguments_that_are_no_text(args):
    refused(Run(*args))


def test_files_whose_names_are_no_text(tmp_path):
    """What is written of them, overlays and jobs above all, is JSON all the same."""
    gemm = write(tmp_path / f"{ODD}.csv", "gpu,dtype,m,n,k,latency_s\nh100_sxm,bf16,4096,4096,4096,2.2e-4\nh100_sxm,bf16,8192,8192,8192,1.6e-3\n")
    run = {
        "id": "r", "model": MODEL, "cluster": {"accelerator": "H100-SXM5-80GB", "count": 8}, "seq_len": 4096, "source": {},
        "layout": {"framework": "megatron-lm", "tp": 2, "pp": 1, "micro_batch": 1, "global_batch": 64}, "measured": {"step_time_s": 3},
    }
    runs = write(tmp_path / f"{ODD}.jsonl", run)
    script = write(tmp_path / f"{ODD}.sh", "torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --seq-length 4096 --micro-batch-size 1 --global-batch-size 64\n")
    out = tmp_path / f"{ODD}.out.json"
    for args in (
        ["calibrate", "gemm", gemm], ["calibrate", "gemm", gemm, "--source", ODD], ["calibrate", "runs", runs], ["calibrate", "spread", runs],
        ["import", "launch", script, "--cluster", "dgx-h100", "--model", "llama-3.1-8b"],
    ):
        made = Run(*args, "--output", out, seconds=60)
        assert made.returncode == 0, (args, made.stderr)
        assert json.loads(out.read_text())
        out.unlink()


@pytest.mark.parametrize("value", ["x", "0", "1", "1e308 GB"])
@pytest.mark.parametrize("command", [["model", "list"], [*PLAN], ["algorithms"]], ids=lambda command: command[0])
def test_flags_take_no_value(command, value):
    refused(Run(*command, f"--json={value}"), "--json: takes no value")


@pytest.mark.parametrize("option", ["--nodes", "--threads", "--max-micro-batch"])
def test_what_was_expected_is_said_of_any_length(option):
    for value in ("x" * 100000, "é" * 30000, ODD * 30000, ",".join(["1"] * 5000)):
        refused(Run(*PLAN, f"{option}={value}"), option, "expected a whole number")


def test_text_is_cut_between_characters(tmp_path):
    for shift in range(4):
        refused(Run("predict", write(tmp_path / "job.json", {**JOB, "seq_len": "a" * shift + "é" * 400})), "/seq_len")


def test_environment_of_any_length():
    refused(Run("hardware", "list", env={"MESHWRIGHT_HARDWARE": "x" * 100000}), "folder")
    refused(Run("hardware", "list", env={"MESHWRIGHT_HARDWARE": "/dev/null/" + "x" * 300}), "folder")
