"""A layout that cannot run is an answer: the rule, its numbers and the nearest layouts that run; exit 1."""

import json

import pytest
from conftest import refused

JOB = {"model": "llama-3.1-70b", "cluster": "dgx-h100", "gpus": 64, "seq_len": 8192, "global_batch": 256}
FULL = {"recompute": "full"}


def written(tmp_path, name="job.json", **changes):
    path = tmp_path / name
    path.write_text(json.dumps({**JOB, **changes}))
    return path


@pytest.mark.parametrize(
    ("layout", "rule", "parts"),
    [
        ({"tp": 8, "pp": 3, "dp": 4, **FULL}, "tp * cp * pp * dp = accelerators", ["96", "64"]),
        ({"tp": 3, "dp": 21, **FULL}, "tp * cp * pp * dp = accelerators", ["63"]),
        ({"tp": 8, "pp": 4, "vp": 3, "dp": 2, "stages": [14, 26, 26, 14], **FULL}, "layers of a stage % vp", ["1, 2"]),
        ({"tp": 8, "pp": 2, "dp": 4, "stages": [11, 13], **FULL}, "stages sum to the layers", ["11 + 13 = 24", "80"]),
        ({"tp": 8, "dp": 8, "micro_batch": 8}, "device memory", ["GB"]),
    ],
)
def test_refused_layouts_are_answers(layout, rule, parts, meshwright, tmp_path):
    path = written(tmp_path, layout=layout)
    result = meshwright("predict", path, "--json")
    assert result.returncode == 1, result.stderr
    assert "cannot run" in result.stderr and result.stderr.count("\n") == 1
    document = json.loads(result.stdout)
    violation = document["violation"]
    assert violation["rule"].startswith(rule)
    for part in parts:
        assert part in violation["words"]
    assert violation["words"] == f"{violation['rule']}: needs {violation['needed']}, has {violation['available']}"
    assert document["layout"]["tp"] == layout["tp"]
    levers = violation.get("levers", [])
    assert len(violation["nearest"]) == (len(levers) if rule == "device memory" else 3) > 0
    for near in violation["nearest"]:
        other = meshwright("predict", written(tmp_path, "near.json", layout=near), "--json")
        assert other.returncode == 0, near
    if rule == "device memory":
        assert document["fit"] == "does not fit" and document["step_time_s"] > 0
        steps = [lever["step_time_s"] for lever in levers]
        assert steps == sorted(steps) and all(lever["fits_probability"] >= 0.5 for lever in levers)
        assert [lever["layout"] for lever in levers] == violation["nearest"]
    else:
        assert "step_time_s" not in document
    people = meshwright("predict", path)
    assert people.returncode == 1
    said = "what would make it fit, fastest first" if levers else "The nearest layouts that run"
    assert said in people.stdout and rule.split("%")[0] in people.stdout


def test_options_of_plan_replace_what_the_job_says(meshwright, tmp_path):
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"model": "llama-3.2-1b", "cluster": "dgx-h100", "nodes": 4, "seq_len": 4096, "global_batch": 128}))

    def best(*options):
        result = meshwright("plan", job, "--top", 1, "--json", *options)
        assert result.returncode == 0, result.stderr
        return {key: json.loads(result.stdout)["best"][key] for key in ("layout", "step_time_s", "placement")}

    def asked(*cluster):
        ask = ["--model", "llama-3.2-1b", "--seq-len", 4096, "--global-batch", 128, "--top", 1, "--json", "--cluster"]
        best = json.loads(meshwright("plan", *ask, *cluster).stdout)["best"]
        return {key: best[key] for key in ("layout", "step_time_s", "placement")}

    assert best() == asked("dgx-h100", "--nodes", 4)
    assert best("--nodes", 8) == asked("dgx-h100", "--nodes", 8)
    assert best("--gpus", 16) == asked("dgx-h100", "--gpus", 16)
    assert best("--cluster", "dgx-b200") == asked("dgx-b200", "--nodes", 4)


def test_a_job_without_a_layout_is_for_plan(meshwright, tmp_path):
    path = written(tmp_path)
    refused(meshwright("predict", path), "/layout", f"meshwright plan {path}")
    by_file = json.loads(meshwright("plan", path, "--json").stdout)
    options = [part for key, value in JOB.items() for part in (f"--{key.replace('_', '-')}", value)]
    by_options = json.loads(meshwright("plan", *options, "--json").stdout)
    assert by_file["best"]["layout"] == by_options["best"]["layout"]
    assert by_file["best"]["step_time_s"] == by_options["best"]["step_time_s"]
    # Options replace members; without a file each is asked for.
    other = json.loads(meshwright("plan", path, "--global-batch", 512, "--precision", "fp8", "--json").stdout)
    assert other["best"]["step_time_s"] != by_file["best"]["step_time_s"]
    refused(meshwright("plan", "--model", "llama-3.1-8b", "--cluster", "dgx-h100", "--seq-len", "8k"), "--global-batch", "job file")


def test_plan_names_the_memory_that_lacks(meshwright, tmp_path):
    """The host's where more would help, not where devices hold no layout however much there is."""

    def why_none(moved, host):
        cluster = {"of": "dgx-h100", "node": {"host_memory": host}}
        path = written(tmp_path, cluster=cluster, gpus=8, global_batch=16, recipe={"offload": {moved: True}})
        result = meshwright("plan", path)
        assert result.returncode == 1
        return result.stderr

    assert "lack host memory" in why_none("optimizer", "64 GB")
    for host in ("400 GB", "9 TB"):
        assert "no layout fits into device memory" in why_none("activations", host)


def test_plan_says_what_a_file_s_own_layout_costs(meshwright, tmp_path):
    layout = {"tp": 8, "pp": 2, "dp": 4, "micro_batch": 1, **FULL}
    path = written(tmp_path, layout=layout)
    answer = json.loads(meshwright("plan", path, "--json").stdout)
    assert "tp = 8" in answer["why_not"]["wanted"] and "recompute = full" in answer["why_not"]["wanted"]
    alone = json.loads(meshwright("predict", path, "--json").stdout)["step_time_s"]
    assert answer["best"]["step_time_s"] < answer["why_not"]["step_time_s"] <= alone * (1 + 1e-9)


def test_a_layout_that_runs_has_no_violation(meshwright, tmp_path):
    result = meshwright("predict", written(tmp_path, layout={"tp": 8, "pp": 4, "dp": 2, "micro_batch": 1}), "--json")
    assert result.returncode == 0, result.stdout
    document = json.loads(result.stdout)
    assert "violation" not in document
    assert [axis["axis"] for axis in document["placement"]["axes"]] == ["tp", "dp", "pp"]
    assert sum(layers for stage in document["placement"]["stages"] for layers in stage["layers"]) == 80
    tree = document["memory_explanation"]
    assert tree["value"] == pytest.approx(document["peak_memory_bytes"])
    assert sum(part["value"] for part in tree["parts"]) == pytest.approx(tree["value"])


def test_flags_of_the_layout(meshwright):
    job = "examples/llama-3.1-405b.json"
    shown = meshwright("predict", job, "--flags", "megatron")
    assert shown.returncode == 0 and "--tensor-model-parallel-size 8" in shown.stdout
    document = json.loads(meshwright("predict", job, "--flags", "megatron", "--json").stdout)
    assert "--pipeline-model-parallel-size 16" in document["flags"] and document["flags_release"].startswith("Megatron")
    refused = meshwright("predict", job, "--flags", "nanotron")
    assert refused.returncode == 2 and refused.stdout == "" and "megatron" in refused.stderr


def test_the_order_of_ranks_can_be_fixed(meshwright):
    ask = ["plan", "--model", "llama-3.1-70b", "--cluster", "dgx-h100", "--gpus", 64, "--global-batch", 256, "--seq-len", 8192, "--top", 1, "--json"]
    found = json.loads(meshwright(*ask, "--fix", "pp=4,order=tp-cp-ep-pp-dp").stdout)
    assert found["best"]["layout"]["order"] == "tp-cp-ep-pp-dp" and "order = tp-cp-ep-pp-dp" in found["stated"]
    refused(meshwright(*ask, "--fix", "order=tp-pp"), "--fix", "tp-pp")


def test_the_nearest_published_run_counts_its_network(meshwright, tmp_path):
    found = {}
    for rate in (400, 100):
        path = tmp_path / f"{rate}.yaml"
        path.write_text(f"of: dgx-h100\nnodes: 16\nnode: {{nic_bandwidth: {rate} Gb/s}}\n")
        plan = meshwright("plan", "--model", "llama-3.1-70b", "--cluster", path, "--global-batch", 512, "--seq-len", 8192, "--fix",
                          "tp=4,pp=4", "--top", 1, "--json")
        found[rate] = json.loads(plan.stdout)["nearest_run"]
    assert found[100]["distance"] > found[400]["distance"] + 0.5
    assert "network" not in found[400]["words"] and "Gb/s of network a GPU 100 here, 400 there" in found[100]["words"]
