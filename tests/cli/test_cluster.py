"""`cluster new`: a commented file from a few words, which every reader takes; YAML, JSON and stdin alike."""

import json
import os
import pty
import re
import subprocess

import pytest
from conftest import program, refused

PLAN = ["plan", "--model", "llama-3.1-8b", "--global-batch", "256", "--seq-len", "4096", "--top", 1, "--json"]


def checked(meshwright, path):
    result = meshwright("cluster", "check", path, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_a_file_says_what_was_said(meshwright, tmp_path):
    path = tmp_path / "mine.yaml"
    made = meshwright("cluster", "new", "--node", "dgx-h100", "--nodes", 16, "--nic", "200 Gb/s", "--fabric", "roce",
                      "--topology", "fat-tree", "--oversubscription", "4:1", "--name", "mine", "--output", path)
    assert made.returncode == 0 and made.stdout == "", made.stderr
    text = path.read_text()
    assert "nic_bandwidth: 200 Gb/s" in text and "oversubscription: [\"4:1\"]" in text
    assert "#   of a NIC" not in text and "# " in text  # every line has its words
    found = checked(meshwright, path)
    assert (found["name"], found["accelerators"], found["fabric"], found["topology"]) == ("mine", 128, "roce", "fat-tree")
    assert found["nic_bandwidth_bytes_per_s"] == 25e9
    assert found["oversubscription"] == [4]


def test_words_of_the_trade(meshwright, tmp_path):
    for said, meant in (("400G", "400 Gb/s"), ("200g", "200 Gb/s")):
        made = meshwright("cluster", "new", "--node", "dgx-h100", "--nodes", 4, "--nic", said, "--topology", "leaf-spine")
        assert made.returncode == 0 and f"nic_bandwidth: {meant}" in made.stdout, made.stderr
    path = tmp_path / "mine.yaml"
    path.write_text(made.stdout)
    assert checked(meshwright, path)["topology"] == "fat-tree"
    refused(meshwright("cluster", "new", "--node", "dgx-h100", "--nodes", 4, "--topology", "leafspine"), "--topology", "leafspine")
    priced = meshwright(*PLAN, "--cluster", "dgx-h100", "--nodes", 2, "--tokens", "1T", "--gpu-hour", "$2.50/h")
    run = json.loads(priced.stdout)["best"]["run"]
    assert run["rented"] and run["cost_usd"] == pytest.approx(2.5 * run["gpu_hours"], rel=0.05)


def test_what_is_not_said_is_a_comment_and_holds(meshwright, tmp_path):
    plain = meshwright("cluster", "new", "--accelerator", "H100-SXM5-80GB", "--nodes", 4)
    assert plain.returncode == 0, plain.stderr
    path = tmp_path / "plain.yaml"
    path.write_text(plain.stdout)
    before = checked(meshwright, path)
    # The marks taken away, the file says the same in so many words.
    spelled = tmp_path / "spelled.yaml"
    spelled.write_text(re.sub(r"^(\s*)# (\s*[a-z_]+:)", r"\1\2", plain.stdout, flags=re.M))
    after = checked(meshwright, spelled)
    for key in ("accelerators", "nics", "nic_bandwidth_bytes_per_s", "fabric", "topology"):
        assert after[key] == before[key], (key, spelled.read_text())


def test_plans_take_it_from_a_path_and_from_stdin(meshwright, tmp_path):
    made = meshwright("cluster", "new", "--node", "dgx-h100", "--nodes", 2).stdout
    path = tmp_path / "c.yaml"
    path.write_text(made)
    by_path, by_name = meshwright(*PLAN, "--cluster", path), meshwright(*PLAN, "--cluster", "dgx-h100", "--nodes", 2)
    by_stdin = meshwright(*PLAN, "--cluster", "-", text=made)
    times = [json.loads(r.stdout)["best"]["step_time_s"] for r in (by_path, by_name, by_stdin)]
    assert times[0] == times[1] == times[2]


def test_a_sheet_can_be_given_back(meshwright, tmp_path):
    path = tmp_path / "sheet.json"
    path.write_text(meshwright("hardware", "show", "dgx-h100", "--json").stdout)
    back = meshwright(*PLAN, "--cluster", path, "--nodes", 2)
    assert back.returncode == 0, back.stderr
    named = meshwright(*PLAN, "--cluster", "dgx-h100", "--nodes", 2)
    assert json.loads(back.stdout)["best"]["step_time_s"] == json.loads(named.stdout)["best"]["step_time_s"]
    document = json.loads(path.read_text())
    document["spec"]["node"]["nics"] = 4  # and what is changed in it counts
    path.write_text(json.dumps(document))
    assert checked(meshwright, path)["nics"] == 4


def test_jobs_and_scenarios_in_yaml(meshwright, tmp_path):
    job = tmp_path / "job.yaml"
    job.write_text("model: llama-3.1-8b\ncluster: {of: dgx-h100, nodes: 2}\nseq_len: 4k\nglobal_batch: 256\n"
                   "layout: {tp: 2, micro_batch: 2, zero_stage: 1}\n")
    result = meshwright("predict", job, "--json")
    assert result.returncode == 0, result.stderr
    piped = meshwright("predict", "-", "--json", text=job.read_text())
    assert json.loads(piped.stdout) == json.loads(result.stdout)
    assert json.loads(result.stdout)["layout"]["dp"] == 8
    refused(meshwright("predict", "-", text="model: [1"), "stdin:")
    job.write_text(job.read_text().replace("tp: 2", "tq: 2"))
    refused(meshwright("predict", job), "job.yaml:/layout", "'tq'", "tp")


@pytest.mark.parametrize(("options", "words"), [
    (["--node", "dgx-h101"], ["--node", "dgx-h100"]),
    (["--nodes", "4"], ["--node"]),
    (["--node", "dgx-h100", "--nodes", "4", "--nic", "connectx-77"], ["--nic", "connectx-7"]),
    (["--node", "dgx-h100", "--nodes", "4", "--oversubscription", "4:2"], ["--oversubscription", "4:1"]),
    (["--node", "dgx-h100", "--nodes", "4", "--tiers", "9"], ["--tiers", "0 to 4"]),
    (["--node", "dgx-h100", "--nodes", "many"], ["--nodes", "many"]),
    (["--accelerator", "H200", "--nodes", "4", "--scale-up-domain", "3"], ["--scale-up-domain", "found 3", "8 accelerators"]),
    (["--node", "dgx-h100", "--nodes", "4", "--topology", "fat-three"], ["--topology", "fat-tree"]),
])
def test_what_cannot_be_is_one_line(meshwright, options, words):
    refused(meshwright("cluster", "new", *options, text=""), *words)


def test_it_asks_on_a_terminal(tmp_path):
    path = tmp_path / "asked.yaml"
    primary, secondary = pty.openpty()
    answers = "dgx-h100\n8\n\nconnectx-77\nconnectx-7\n\n\n\n2:1\n\n"
    with subprocess.Popen([program(), "cluster", "new", "--output", path], stdin=secondary, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        os.write(primary, answers.encode())
        _, said = process.communicate(timeout=60)
    os.close(primary), os.close(secondary)
    assert process.returncode == 0, said
    assert "connectx-77" in said, "what is refused is said, and asked again"
    text = path.read_text()
    assert "nodes: 8" in text and "nic: connectx-7" in text and "2:1" in text
