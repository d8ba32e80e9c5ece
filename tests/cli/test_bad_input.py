"""Bad input: one clear line on stderr, exit 2, nothing on stdout, nothing written."""

import json

import pytest

from cli.hostile import JOB
from conftest import refused

PLAN = ["plan", "--cluster", "dgx-h100", "--nodes", "2", "--global-batch", "64", "--seq-len", "4096"]

def job(tmp_path, text=None, **changes):
    path = tmp_path / "job.json"
    path.write_text(text if text is not None else json.dumps({**JOB, **changes}))
    return path


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        ([], ["subcommand"]),
        (["pln"], ["'pln'", "plan"]),
        ([*PLAN, "--model", "lama-3.1-8b"], ["lama-3.1-8b", "llama-3.1-8b"]),
        ([*PLAN, "--model", "llama-3.1-8b", "--global-bach", "3"], ["--global-bach", "--global-batch"]),
        ([*PLAN, "--model", "llama-3.1-8b", "--precision", "bf61"], ["bf61", "bf16"]),
        ([*PLAN, "--model", "llama-3.1-8b", "--framework", "megatron-cor"], ["megatron-core"]),
        ([*PLAN, "--model", "llama-3.1-8b", "--top", "-3"], ["--top"]),
        ([*PLAN, "--model", "llama-3.1-8b", "--gpus", "17"], ["17"]),
        ([*PLAN, "--model", "llama-3.1-8b", "--gpus", "ten"], ["--gpus"]),
        ([*PLAN, "--model", "absent.json"], ["absent.json", "no such file"]),
        ([*PLAN, "--model", "llama-3.1-8b", "--flags", "megatrn"], ["megatrn", "megatron"]),
        (["plan", "--model", "llama-3.1-8b"], ["--cluster"]),
        (["plan", "--model", "llama-3.1-8b", "--cluster", "dgx-h1000", "--global-batch", "8", "--seq-len", "4096"],
         ["dgx-h1000", "dgx-h100"]),
        (["plan", "--model", "llama-3.1-8b", "--cluster", "dgx-h100", "--global-batch", "0", "--seq-len", "4096"],
         ["--global-batch"]),
        (["predict", "absent.json"], ["absent.json", "no such file"]),
        (["hardware", "show", "H1000"], ["H1000"]),
        (["model", "show", "gpt-5"], ["gpt-5"]),
        (["collective", "all_redcue", "--cluster", "dgx-h100"], ["all_redcue", "all_reduce"]),
        (["collective", "all_reduce", "--cluster", "dgx-h100", "-b", "12 parsecs"], ["parsecs"]),
        (["collective", "all_reduce", "--cluster", "dgx-h100", "--algo", "rnig"], ["--algo", "rnig", "ring"]),
        (["collective", "all_reduce", "--cluster", "dgx-h100", "--proto", "LL12"], ["--proto", "LL12", "LL128"]),
        (["collective", "all_reduce", "--cluster", "dgx-h100", "-b", "8G", "-e", "1K"], ["-e", "'1K'", "'8G'"]),
        ([*PLAN, "--model", "llama-3.1-8b", "--fix", "tp="], ["--fix", "'tp='"]),
        (["validate", "absent.jsonl"], ["absent.jsonl"]),
        (["calibrate", "gemm", "absent.csv"], ["absent.csv"]),
        (["topo", "import", "absent.txt"], ["absent.txt"]),
    ],
    ids=lambda value: " ".join(value)[-48:] if isinstance(value, list) else None,
)
def test_command_line(args, parts, meshwright):
    refused(meshwright(*args), *parts)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"layuot": {}}, ["/", "layuot", "layout"]),
        ({"layout": {"tp": 2, "dp": 4, "pq": 1}}, ["job.json:/layout", "'pq'", "'pp'"]),
        ({"layout": {"tp": -2, "dp": 4}}, ["job.json:/layout/tp", "-2"]),
        ({"layout": {"tp": 2.5, "dp": 4}}, ["job.json:/layout/tp", "2.5"]),
        ({"layout": {"tp": "8", "dp": 1}}, ["job.json:/layout/tp"]),
        ({"layout": {"tp": 2, "dp": 4, "recompute": "ful"}}, ["/layout/recompute", "full"]),
        ({"seq_len": -4096}, ["job.json:/seq_len", "-4096"]),
        ({"seq_len": None}, ["seq_len"]),
        ({"global_batch": "64 GB"}, ["job.json:/global_batch", "64 GB"]),
        ({"model": "mamba-2.8b"}, ["mamba-2.8b"]),
        ({"model": 7}, ["job.json:/model"]),
        ({"precision": "fp7"}, ["fp7"]),
        ({"cluster": {"node": "dgx-h100", "nodes": 0}}, ["/cluster/nodes"]),
        ({"gpus": 1024}, ["1024"]),
    ],
    ids=lambda value: json.dumps(value)[:48] if isinstance(value, dict) else None,
)
def test_job_file(changes, parts, meshwright, tmp_path):
    refused(meshwright("predict", job(tmp_path, **changes)), *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["empty"]),
        ('{"model": "llama-3.1-8b", "clus', ["not valid JSON"]),
        ("[1, 2]", ["expected an object"]),
        (json.dumps(JOB).replace("4096", "1e400"), ["job.json"]),
        (json.dumps(JOB).replace("4096", "1e30"), ["job.json:/seq_len"]),
        ("\x00\x01\x02", ["not valid JSON"]),
    ],
)
def test_broken_json(text, parts, meshwright, tmp_path):
    refused(meshwright("predict", job(tmp_path, text)), *parts)


def test_trace_is_not_half_written(meshwright, tmp_path):
    result = meshwright("predict", job(tmp_path), "--trace", tmp_path / "no" / "such" / "trace.json")
    refused(result, "trace.json", "cannot be written")


def test_overlay_with_a_wrong_unit_names_file_and_place(meshwright, tmp_path):
    (tmp_path / "mine.json").write_text(
        json.dumps({"accelerators": [{"name": "H100-SXM5-80GB", "memory_bandwidth": "3.35 TB"}]})
    )
    refused(meshwright("--hardware", tmp_path, "hardware", "show", "H100-SXM5-80GB"), "mine.json:/accelerators/0", "GB/s")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        (option, value)
        for option in ("--nodes", "--gpus", "--global-batch", "--seq-len", "--top", "--threads", "--max-micro-batch")
        for value in ("", "0", "-1", "010", "0x10", "1e3", "nan", "99999999999999999999", "8 ")
    ]
    + [("--moe-imbalance", value) for value in ("nan", "inf", "0.5", "1e9", "")]
    + [("--framework", ""), ("--precision", ""), ("--flags", "")],
)
def test_plan_names_the_option_with_a_wrong_value(option, value, meshwright):
    refused(meshwright(*PLAN, "--model", "deepseek-v3", f"{option}={value}"), option)


@pytest.mark.parametrize(("option", "value"), [("--ranks", "0"), ("--ranks", "-1"), ("--nodes", "0"), ("-f", "inf"), ("-f", "1")])
def test_collective_names_the_option_with_a_wrong_value(option, value, meshwright):
    refused(meshwright("collective", "all_reduce", "--cluster", "dgx-h100", option, value), value)


@pytest.mark.parametrize("text", ["a\nb", "\n", "a\rb", "\x1b[31m"])
def test_control_characters_stay_on_one_line(text, meshwright):
    refused(meshwright(*PLAN, "--model", text), "--model")
    refused(meshwright("hardware", "show", text))


@pytest.mark.parametrize("folder", ["/nonexistent", "/dev/null", ""])
def test_overlays_that_are_not_there(folder, meshwright):
    refused(meshwright("--hardware", folder, "model", "list"), "--hardware")


@pytest.mark.parametrize(
    ("node", "precision", "valid"),
    [("dgx-a100", "fp8", "bf16"), ("dgx-h100", "nvfp4", "fp8"), ("dgx-1v", "bf16", "fp16"), ("mi300x-oam", "nvfp4", "fp8")],
)
def test_a_format_that_the_device_lacks(node, precision, valid, meshwright, tmp_path):
    sizes = ["--nodes", "2", "--global-batch", "64", "--seq-len", "4096"]
    refused(
        meshwright("plan", "--model", "llama-3.1-8b", "--cluster", node, *sizes, "--precision", precision),
        "--precision", precision, valid,
    )
    refused(meshwright("predict", job(tmp_path, cluster=node, precision=precision)), "job.json:/precision", valid)


def test_moe_imbalance_of_a_dense_model(meshwright, tmp_path):
    refused(meshwright(*PLAN, "--model", "llama-3.1-8b", "--moe-imbalance", "2"), "--moe-imbalance", "no experts")
    refused(meshwright("predict", job(tmp_path, moe_imbalance=2)), "job.json:/moe_imbalance", "no experts")


def test_a_key_that_stands_twice(meshwright, tmp_path):
    refused(meshwright("predict", job(tmp_path, json.dumps(JOB).replace("{", '{"nodes": 2, ', 1))), "'nodes'", "twice")


@pytest.mark.parametrize("bandwidth", ["0 Gb/s", "1e300 Gb/s", "-1 Gb/s", "nan Gb/s", "400"])
def test_bandwidth_of_a_nic(bandwidth, meshwright, tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"node": {"accelerator": "H100", "nic_bandwidth": bandwidth}, "nodes": 2}))
    refused(meshwright("topo", "show", path), "cluster.json:/node/nic_bandwidth")


@pytest.mark.parametrize("nics", [0, 1, 3])
def test_topo_check_of_few_nics(nics, meshwright, tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"node": {"accelerator": "H100", "nics": nics}, "nodes": 4}))
    result = meshwright("topo", "check", path)
    assert result.returncode == 0, result.stderr
    assert "NIC" in result.stdout


def test_what_would_take_minutes_is_refused(meshwright):
    refused(meshwright("topo", "show", "dgx-h100", "--nodes", "1000003"), "accelerators")
    flow = ["collective", "all_reduce", "--cluster", "dgx-h100", "--nodes", "2048", "--cost-model", "flow"]
    refused(meshwright(*flow), "--cost-model")


def test_nothing_fits_says_why(meshwright):
    sizes = ["--cluster", "dgx-h100", "--nodes", "101", "--global-batch", "64", "--seq-len", "4096"]
    result = meshwright("plan", "--model", "llama-3.1-8b", *sizes)
    assert result.returncode == 1
    assert "global_batch" in result.stderr, result.stderr


@pytest.mark.parametrize(("model", "cluster", "nodes"), [("llama-3.1-70b", "gb200-nvl72", 18), ("mixtral-8x7b", "dgx-h100", 4)])
def test_what_plan_says_predict_repeats(model, cluster, nodes, meshwright, tmp_path):
    sizes = {"seq_len": 4096, "global_batch": 256}
    options = ["--nodes", nodes, "--seq-len", 4096, "--global-batch", 256, "--json"]
    for planned in json.loads(meshwright("plan", "--model", model, "--cluster", cluster, *options).stdout)["layouts"]:
        path = job(tmp_path, json.dumps({"model": model, "cluster": cluster, "nodes": nodes, **sizes, "layout": planned["layout"]}))
        result = meshwright("predict", path, "--json")
        assert result.returncode == 0, result.stderr
        predicted = json.loads(result.stdout)
        assert predicted["step_time_s"] == planned["step_time_s"]
        assert predicted["peak_memory_bytes"] == planned["peak_memory_bytes"]
