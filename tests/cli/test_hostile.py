"""Hostile input: files that are huge, deep, endless or no files at all; writing where others planted something; a stdout
that is full or closed. One clear line or a right answer, soon, and in little memory."""

import contextlib
import gzip
import json
import os
import resource
import sqlite3
import stat
import subprocess
import time

import pytest

from conftest import ROOT, program

JOB = {
    "model": "llama-3.1-8b",
    "cluster": "dgx-h100",
    "nodes": 1,
    "seq_len": 4096,
    "global_batch": 64,
    "layout": {"tp": 2, "dp": 4},
}
MODEL = {"name": "m", "layers": 32, "hidden": 4096, "ffn_hidden": 14336, "heads": 32, "kv_heads": 8, "vocab": 128256}
HF = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "vocab_size": 128256,
}


SECONDS, MIB = 1, 256


def limited(mib):
    """Bounds what a process may write to: heap, stacks and maps of its own. An address space also counts the program's text
    and the 64 MiB that the C library sets aside for each thread and never touches."""
    resource.setrlimit(resource.RLIMIT_DATA, (mib << 20, mib << 20))


class Run:
    """A run of the program with what it took: seconds of the clock, and of processors."""

    def __init__(self, *args, seconds=20, mib=MIB, cwd=None, stdout=subprocess.PIPE, env=None, preexec=lambda: None):
        start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        environment = {k: v for k, v in os.environ.items() if k != "MESHWRIGHT_HARDWARE"} | (env or {})
        with subprocess.Popen(
            [program(), *map(os.fsencode, map(str, args))], stdout=stdout, stderr=subprocess.PIPE, cwd=cwd or ROOT, env=environment, preexec_fn=lambda: (preexec(), limited(mib))
        ) as process:
            try:
                out, err = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        self.returncode = process.returncode
        self.stdout, self.stderr = (out or b"").decode(), err.decode()
        self.seconds = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def refused(run, *parts):
    assert run.returncode == 2, (run.returncode, run.stdout[:500], run.stderr[:500])
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1 and len(run.stderr) < 3000, run.stderr[:500]
    assert run.cpu < SECONDS, run.cpu
    for part in parts:
        assert part in run.stderr, run.stderr


def write(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


# --- numbers ---------------------------------------------------------------------------------------------------------


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
    refused(Run("validate", write(tmp_path / "c.jsonl", record)), "c.jsonl:1:/rows/0", "1e-6")


def test_networks_of_next_to_nothing(tmp_path):
    record = {"id": "c", "hardware": {"gpu": "H100-SXM5-80GB", "nic_gbps": 1e-320}, "ranks": 8, "collective": "all_reduce", "rows": [{"bytes": 8, "time_us": 9}]}
    refused(Run("validate", write(tmp_path / "c.jsonl", record)), "/hardware/nic_gbps")


def test_a_candidate_whose_node_is_a_number(tmp_path):
    scenario = {
        "workloads": [{"name": "w", "model": "llama-3.1-8b", "seq_len": 8, "global_batch": 8, "tokens": "1B"}],
        "candidates": [{"name": "c", "cluster": "dgx-h100", "node": 16, "nic_bandwidth": "200 Gb/s"}],
    }
    refused(Run("whatif", write(tmp_path / "s.json", scenario)), "node", "expected an object")


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


PLAN = ["plan", "--model", "llama-3.1-8b", "--cluster", "dgx-h100", "--nodes", 1, "--global-batch", 64, "--seq-len", 4096]


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


# --- size and depth --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["[" * 100000, '{"a":' * 100000, "[" * 100000 + "]" * 100000], ids=["lists", "objects", "closed"])
@pytest.mark.parametrize("reader", ["job", "model", "cluster", "overlay", "scenario", "records"])
def test_depth(reader, text, tmp_path):
    deep = write(tmp_path / "deep.json", text)
    args = {
        "job": ["predict", deep],
        "model": ["model", "show", deep],
        "cluster": ["topo", "show", deep],
        "overlay": ["--hardware", tmp_path, "hardware", "list"],
        "scenario": ["whatif", deep],
        "records": ["validate", deep.rename(tmp_path / "deep.jsonl") if reader == "records" else deep],
    }[reader]
    refused(Run(*args), "deep.json", "64 deep")


@pytest.mark.parametrize("kind", ["keys", "values", "name", "key", "bytes"])
def test_size(kind, tmp_path):
    text = {
        "keys": "{" + ",".join(f'"k{i}": 1' for i in range(200000)) + "}",
        "values": '{"model": [' + "1," * 2000000 + "1]}",
        "name": json.dumps({**JOB, "model": "x" * 2000000}),
        "key": json.dumps({**JOB, "k" * 2000000: 1}),
        "bytes": json.dumps({**JOB, "model": "x" * 100000000}),
    }[kind]
    refused(Run("predict", write(tmp_path / "job.json", text)), "job.json")


def test_many_near_keys(tmp_path):
    keys = {f"layuot{i}": 1 for i in range(9000)}
    refused(Run("predict", write(tmp_path / "job.json", {**keys, **{k: v for k, v in JOB.items() if k != "model"}})), "job.json")


@pytest.mark.parametrize("gpus", [10000, 100000])
def test_matrix_of_many(gpus, tmp_path):
    header = "\t" + "\t".join(f"GPU{i}" for i in range(gpus)) + "\tCPU Affinity\n"
    path = write(tmp_path / "topo.txt", header + "GPU0\t X " + "\tNV12" * (gpus - 1) + "\n")
    refused(Run("topo", "import", path), "topo.txt", "at most")


@pytest.mark.parametrize("devices", [20000, 200000])
def test_xml_of_many(devices, tmp_path):
    pci = '<pci class="0x030200" busid="0000:00:{:02x}.0"><gpu dev="0"/></pci>'
    path = write(tmp_path / "topo.xml", "<system><cpu>" + "".join(pci.format(i) for i in range(devices)) + "</cpu></system>")
    refused(Run("topo", "import", path), "topo.xml", "at most")


def test_rocm_of_huge_weights(tmp_path):
    table = "ROCm\nWeight between two GPUs\n GPU0 GPU1\nGPU0 0 {0}\nGPU1 {0} 0\n\nLink Type between two GPUs\n GPU0 GPU1\nGPU0 0 XGMI\nGPU1 XGMI 0\n"
    run = Run("topo", "import", write(tmp_path / "rocm.txt", table.format("9" * 400)), "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["gpus"] == 2


@pytest.mark.parametrize(("pattern", "ranks"), [("linear_alltoall", 4000), ("allreduce_ring", 4000), ("dissemination", 65536)])
def test_messages_of_many_ranks(pattern, ranks, tmp_path):
    record = {"pattern": pattern, "P": ranks, "bytes": 8, "L": 1, "o": 1, "g": 1, "G": 1, "O": 0, "S": 0, "makespan": 1}
    refused(Run("validate", write(tmp_path / "l.jsonl", record)), pattern, str(ranks))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.sh", "a=xxxxxxxxxx\n" + "".join(f'a="$a$a"\n' for _ in range(60)) + "torchrun x --tensor-model-parallel-size $a\n"),
        ("values.yaml", "a0: &a0 {k: v}\n" + "".join(f"a{i + 1}: &a{i + 1} {{" + ", ".join(f"k{k}: *a{i}" for k in range(9)) + "}\n" for i in range(9))),
        ("empty.yaml", "a0: &a0 {}\n" + "".join(f"a{i + 1}: &a{i + 1} {{" + ", ".join(f"k{k}: *a{i}" for k in range(9)) + "}\n" for i in range(9))),
        ("paths.json", ('{"' + "k" * 900 + '":') * 60 + json.dumps({str(i): 1 for i in range(9000)}) + "}" * 60),
        ("long.sh", "x" * 5_000_000),
    ],
    ids=lambda value: value if len(value) < 20 else "",
)
def test_launch_files_that_unfold(name, text, tmp_path):
    refused(Run("import", "launch", write(tmp_path / name, text)), name, "4194304 bytes")


def test_segments_of_one_byte(tmp_path):
    record = {"pattern": "pipelinedring", "P": 64, "bytes": 1 << 40, "extra": "--segmentsize 1", "L": 1, "o": 1, "g": 1, "G": 1, "O": 0, "S": 0, "makespan": 1}
    refused(Run("validate", write(tmp_path / "l.jsonl", record)), "segments")


# --- what is no file -------------------------------------------------------------------------------------------------

READERS = {
    "job": ["predict"],
    "model": ["model", "show"],
    "log": ["validate"],
    "topology": ["topo", "import"],
    "table": ["calibrate", "gemm"],
    "scenario": ["whatif"],
}


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/tty0", "/dev/full"])
@pytest.mark.parametrize("reader", READERS)
def test_devices_are_no_files(reader, device, tmp_path):
    if not os.path.exists(device):
        pytest.skip("no such device here")
    link = tmp_path / {"table": "x.csv", "log": "x.log", "topology": "x.txt"}.get(reader, "x.json")
    link.symlink_to(device)
    refused(Run(*READERS[reader], link), "device")


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_into_which_nobody_writes(reader, tmp_path):
    pipe = tmp_path / {"table": "x.csv", "log": "x.log", "topology": "x.txt"}.get(reader, "x.json")
    os.mkfifo(pipe)
    refused(Run(*READERS[reader], pipe, seconds=10), pipe.name)


def test_a_pipe_with_a_writer_is_read(tmp_path):
    script = f"{program()} predict <(sleep 0.3; cat {write(tmp_path / 'job.json', JOB)}) --json"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["layout"]["tp"] == 2


@pytest.mark.parametrize(("name", "args"), [("j.json.gz", ["predict"]), ("l.log", ["validate"]), ("p.csv.gz", ["calibrate", "gemm"]), ("t.json.gz", ["trace"])])
def test_gzip_bombs(name, args, tmp_path):
    bomb = tmp_path / name
    bomb.write_bytes(gzip.compress(b"\0" * (8 << 20)) * 256)
    command = ["predict", write(tmp_path / "job.json", JOB), "--measured"] if args == ["trace"] else args
    refused(Run(*command, bomb), name)


@pytest.mark.parametrize("cut", [1, 10, 30])
def test_truncated_gzip(cut, tmp_path):
    whole = gzip.compress(json.dumps(JOB).encode())
    (tmp_path / "job.json.gz").write_bytes(whole[:-cut])
    refused(Run("predict", tmp_path / "job.json.gz"), "not a whole gzip file")


# --- writing ---------------------------------------------------------------------------------------------------------


def predict_to(path, tmp_path, **more):
    return Run("predict", write(tmp_path / "job.json", JOB), "--trace", path, **more)


def test_devices_are_written_through(tmp_path):
    before = os.stat("/dev/null")
    assert predict_to("/dev/null", tmp_path).returncode == 0
    after = os.lstat("/dev/null")
    assert stat.S_ISCHR(after.st_mode) and after.st_rdev == before.st_rdev


def test_a_full_device_is_an_error(tmp_path):
    refused(predict_to("/dev/full", tmp_path), "/dev/full", "No space left")


def test_planted_siblings_are_left_alone(tmp_path):
    out, victim, own = tmp_path / "out.json", tmp_path / "victim", tmp_path / "out.json.part"
    victim.write_text("mine")
    own.symlink_to(victim)
    assert predict_to(out, tmp_path).returncode == 0
    assert victim.read_text() == "mine" and own.is_symlink()
    assert json.loads(out.read_text())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["job.json", "out.json", "out.json.part", "victim"]


def test_a_link_stays_a_link(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("{}")
    link.symlink_to(real)
    assert predict_to(link, tmp_path).returncode == 0
    assert link.is_symlink() and json.loads(real.read_text())


def test_permissions_stay(tmp_path):
    out = write(tmp_path / "out.json", "{}")
    out.chmod(0o640)
    assert predict_to(out, tmp_path).returncode == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


@pytest.mark.parametrize(("path", "part"), [("", "--trace"), (".", "folder"), ("no/such/x.json", "cannot be written")])
def test_places_that_cannot_be_written(path, part, tmp_path):
    refused(Run("predict", write(tmp_path / "job.json", JOB), f"--trace={path}", cwd=tmp_path), part)


@pytest.mark.parametrize(
    "command",
    [
        [*PLAN, "--html"],
        [*PLAN, "--launch"],
        ["predict", "job.json", "--trace"],
        ["predict", "job.json", "--html"],
        ["predict", "job.json", "--launch"],
        ["whatif", "job.json", "--csv"],
        ["whatif", "job.json", "--html"],
        ["whatif", "job.json", "--store"],
        ["import", "launch", "job.json", "--output"],
        ["cluster", "new", "--node", "dgx-h100", "--nodes", 2, "--output"],
        ["calibrate", "gemm", "job.json", "--output"],
        ["calibrate", "runs", "job.json", "--output"],
        ["calibrate", "spread", "--output"],
        ["calibrate", "nccl-tests", "job.json", "--output"],
    ],
    ids=lambda command: " ".join(map(str, [*command[:2], command[-1]])),
)
def test_outputs_are_refused_before_the_work(command, tmp_path):
    write(tmp_path / "job.json", JOB)
    for place in ("/dev/null/x.json", "/dev/null/x/y", ""):
        refused(Run(*command[:-1], f"{command[-1]}={place}", cwd=tmp_path), command[-1], place)


def test_concurrent_writers(tmp_path):
    job, out = write(tmp_path / "job.json", JOB), tmp_path / "out.json"
    runs = [subprocess.Popen([program(), "predict", job, "--trace", out], stdout=subprocess.DEVNULL) for _ in range(12)]
    assert [run.wait(timeout=60) for run in runs] == [0] * 12
    assert json.loads(out.read_text())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["job.json", "out.json"]


# Killed a few times in every run, a hundred times where slow tests run.
KILLS = [5, pytest.param(100, marks=pytest.mark.slow)]


@pytest.mark.parametrize("kills", KILLS)
def test_killed_writers_leave_whole_files(kills, tmp_path):
    job, out = write(tmp_path / "job.json", JOB), tmp_path / "out.json"
    first = predict_to(out, tmp_path)
    assert first.returncode == 0
    whole = out.read_text()
    for i in range(kills):
        out.write_text(whole[::-1])  # as long, so that a mixture would show
        run = subprocess.Popen([program(), "predict", job, "--trace", out], stdout=subprocess.DEVNULL)
        time.sleep(first.seconds * (i + 1) / kills)
        run.kill()
        run.wait()
        assert out.read_text() in (whole, whole[::-1])
    for left in tmp_path.iterdir():
        assert left in (job, out) or left.name.startswith(".meshwright-"), left


@pytest.mark.parametrize("kills", KILLS)
def test_killed_sweeps_lose_and_double_nothing(kills, tmp_path):
    scenario = {
        "name": "s",
        "workloads": [{"name": "w", "model": "llama-3.1-8b", "seq_len": 4096, "global_batch": 256, "tokens": "100B", "fix": "tp=2,pp=1,cp=1"}],
        "candidates": [{"name": "c", "cluster": "dgx-h100", "vary": {"nodes": list(range(2, 2 + max(3, kills)))}}],
    }
    path, store = write(tmp_path / "sweep.json", scenario), tmp_path / "s.db"
    whole = Run("whatif", path, "--json", seconds=600)
    assert whole.returncode == 0, whole.stderr
    kept = {}
    for i in range(kills):
        run = subprocess.Popen([program(), "whatif", path, "--store", store, "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole.seconds / 20 * (1 + i % 5))
        run.kill()
        run.wait()
        if not store.exists():
            continue
        with contextlib.closing(sqlite3.connect(store)) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            tables = file.execute("SELECT name FROM sqlite_master WHERE name = 'results'").fetchall()
            lines = dict(file.execute("SELECT point, line FROM results")) if tables else {}
        assert kept.items() <= lines.items()  # what was there is there as it was
        for line in lines.values():
            json.loads(line)
        kept = lines
    again = Run("whatif", path, "--store", store, "--json", seconds=600)
    assert json.loads(again.stdout)["results"] == json.loads(whole.stdout)["results"]


# --- stdout ----------------------------------------------------------------------------------------------------------

COMMANDS = {
    "list": ["model", "list"],
    "json": ["model", "list", "--json"],
    "plan": PLAN,
    "help": ["--help"],
    "topology": ["topo", "show", "dgx-h100", "--nodes", "2"],
    "algorithms": ["algorithms"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_stdout(command):
    with open("/dev/full", "w") as full:
        run = Run(*COMMANDS[command], stdout=full)
    assert run.returncode == 74
    assert run.stderr == "meshwright: cannot write to stdout: No space left on device\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_stdout(command):
    run = Run(*COMMANDS[command], stdout=None, preexec=lambda: os.close(1))
    assert run.returncode == 74
    assert run.stderr.startswith("meshwright: cannot write to stdout: ")


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
