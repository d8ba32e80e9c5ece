"""Scenarios from the outside: interruptions, hostile files, and the page in a browser."""

import csv
import io
import json
import random
import resource
import shutil
import signal
import subprocess
import time

import pytest

from conftest import program, refused

# Two workloads with a stated layout on candidates that differ in size and price: quick to plan.
WORKLOAD = {
    "name": "8B",
    "model": "llama-3.1-8b",
    "seq_len": 4096,
    "global_batch": 512,
    "tokens": "100B",
    "fix": ["tp=1", "pp=1", "cp=1", "recompute=none"],
}
SCENARIO = {
    "name": "small",
    "workloads": [WORKLOAD],
    "candidates": [{"name": "H100", "cluster": "dgx-h100", "nodes": 2}, {"name": "H200", "cluster": "dgx-h200", "nodes": 2}],
}
HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)>"\'&'


def write(tmp_path, scenario, name="scenario.json"):
    path = tmp_path / name
    path.write_text(scenario if isinstance(scenario, str) else json.dumps(scenario))
    return path


def changed(**members):
    return {**SCENARIO, **members}


def with_candidate(**members):
    return changed(candidates=[SCENARIO["candidates"][0], {"name": "other", "cluster": "dgx-h100", "nodes": 2, **members}])


def with_workload(**members):
    return changed(workloads=[{**WORKLOAD, **members}])


@pytest.mark.parametrize(
    ("scenario", "parts"),
    [
        ("", ["scenario.json", "empty"]),
        ("{", ["scenario.json", "JSON"]),
        ("[]", ["scenario.json"]),
        (changed(candidats=[]), ["scenario.json", "candidats", "candidates"]),
        (changed(candidates=[]), ["scenario.json:/candidates", "at least one"]),
        (with_candidate(cluster="dgx-h1000"), ["scenario.json:/candidates/1/cluster:", "dgx-h1000", "dgx-h100"]),
        (with_candidate(nodes=-3), ["scenario.json:/candidates/1/nodes:"]),
        (with_candidate(nodes=1e300), ["scenario.json:/candidates/1/nodes:"]),
        (with_candidate(nodes=4000000000), ["scenario.json:/candidates/1/nodes:"]),
        (with_candidate(gpus=12), ["scenario.json:/candidates/1", "gpus"]),
        (with_candidate(efficiency=7), ["scenario.json:/candidates/1/efficiency:"]),
        (with_candidate(network={"routing": "ecnp"}), ["scenario.json:/candidates/1/network/routing:", "ecmp"]),
        (with_candidate(congestion="dcqn"), ["scenario.json:/candidates/1/congestion:", "dcqcn"]),
        (with_candidate(vary={"nodes": [2, -1]}), ["scenario.json:/candidates/1/vary/nodes"]),
        (with_candidate(prices={"node": "1e400 USD"}), ["scenario.json:/candidates/1/prices/node:"]),
        (with_candidate(prices={"contract": "spott"}), ["scenario.json:/candidates/1/prices/contract:", "spot"]),
        (with_candidate(prices={"energy": 0.08}), ["scenario.json:/candidates/1/prices/energy:", "$/kWh"]),
        (with_candidate(vary={"nodes": {"from": 1, "to": 1000000, "step": 1}}), ["/candidates/1/vary/nodes:", "250000"]),
        (with_candidate(vary={"nodes": list(range(1, 2001)), "nics": list(range(1, 501))}), ["scenario.json", "250000"]),
        (with_workload(model="lama"), ["scenario.json:/workloads/0/model:", "lama"]),
        (with_workload(seq_len=10**12), ["scenario.json:/workloads/0/seq_len:"]),
        (with_workload(tokens="15Q"), ["scenario.json:/workloads/0/tokens:", "15T"]),
        (with_workload(tokens=1e300), ["scenario.json:/workloads/0/tokens:"]),
        (with_workload(layout={"tp": "two"}), ["scenario.json:/workloads/0/layout/tp:"]),
        (with_workload(precision="bf61"), ["scenario.json:/workloads/0/precision:", "bf16"]),
        (changed(constraints={"deadline": "0 days"}), ["scenario.json:/constraints/deadline:"]),
        (changed(constraints={"goodput": 1.5}), ["scenario.json:/constraints/goodput:"]),
        (changed(uncertainty={"energy": ["0.2 $/kWh", "0.1 $/kWh"]}), ["scenario.json:/uncertainty/energy"]),
        (changed(questions=[{"name": "q", "ask": "siez"}]), ["scenario.json:/questions/0/ask:", "size"]),
        (changed(questions=[{"name": "q", "ask": "size", "candidate": "H10", "deadline": "3 d"}]),
         ["scenario.json:/questions/0/candidate:", "H100"]),
        (changed(name="x" * 300, candidates=[{"name": "x" * 300, "cluster": "dgx-h100"}]), ["/candidates/0/name:"]),
        (changed(include="../other.json"), ["scenario.json:/include:"]),
        (changed(include="scenario.json"), ["includes itself"]),
        (with_candidate(power_cap=500), ["scenario.json:/candidates/1/power_cap:", "MW"]),
        (with_candidate(site_power="-1 MW"), ["scenario.json:/candidates/1/site_power:"]),
        (with_candidate(site_power="0 MW"), ["scenario.json:/candidates/1/site_power:", "above zero"]),
        (changed(candidates=[{"name": "all", "cluster": "dgx-h100", "size": {"capex": "1e13 USD"}}]),
         ["scenario.json:/candidates/0/size:", "32768 nodes or more"]),
        (changed(questions=[{"name": "q", "ask": "break_even", "between": ["H100", "H200"], "vary": "name", "range": [1, 2]}]),
         ["'name'", "can vary"]),
        (changed(questions=[{"name": "q", "ask": "break_even", "between": ["H100", "H200"], "vary": "nodes", "range": [4, 2]}]),
         ["scenario.json:/questions/0/range:", "from less to more"]),
        (changed(prices={"node": "0 USD"}), ["scenario.json:/prices/node:", "above zero"]),
        (with_candidate(prices={"gpu_hour": "0 $/h"}), ["scenario.json:/candidates/1/prices/gpu_hour:", "above zero"]),
        (changed(prices={"utilisation": "0 %"}), ["scenario.json:/prices/utilisation:", "0.01"]),
        (changed(prices={"depreciation": "0 y"}), ["scenario.json:/prices/depreciation:", "30"]),
        (changed(uncertainty={"draws": 10**9}), ["scenario.json:/uncertainty/draws:", "10000"]),
        (changed(checkpoint={"interval": "0 s"}), ["scenario.json:/checkpoint/interval:", "above zero"]),
        (with_candidate(cluster="pcie-rtx-pro-6000"), ["scenario.json:/candidates/1", "no price", "gpu_hour"]),
    ],
)
def test_hostile_scenarios_are_refused_in_one_line(scenario, parts, tmp_path, meshwright):
    refused(meshwright("whatif", write(tmp_path, scenario), "--json"), *parts)


def test_a_million_candidates_are_refused_at_once(tmp_path, meshwright):
    row = '{"name": "c%d", "cluster": "dgx-h100", "nodes": 2}'
    rows = ",".join(row % i for i in range(1_000_000))
    path = write(tmp_path, '{"workloads": [%s], "candidates": [%s]}' % (json.dumps(WORKLOAD), rows))
    started = time.monotonic()
    refused(meshwright("whatif", path), "scenario.json", "values, expected at most")
    assert time.monotonic() - started < 10, "as long as it takes to read"


@pytest.mark.parametrize("checkpoint", [{"interval": "1e9 h"}, {"mode": "synchronous", "store_write": "1 B/s"}])
def test_a_run_that_failures_undo_is_an_answer(checkpoint, tmp_path, meshwright):
    result = meshwright("whatif", write(tmp_path, changed(checkpoint=checkpoint)), "--json")
    assert result.returncode == 1, result.stderr
    for row in json.loads(result.stdout)["results"]:
        assert row["violation"].startswith("failures: one in"), row


@pytest.mark.parametrize(
    ("scenario", "parts"),
    [
        (with_candidate(vary={"nodes": [1, 2, 4], "nic_bandwidth": ["400 Gb/s", "1 b/s"]}), ["scenario.json:/candidates/1/vary/nic_bandwidth:"]),
        (changed(questions=[{"name": "q", "ask": "siez"}]), ["scenario.json:/questions/0/ask:", "size"]),
        (changed(questions=[{"name": "q", "ask": "compare", "candidates": ["H100", "H20"]}]),
         ["scenario.json:/questions/0/candidates/1:", "H200"]),
        (changed(questions=[{"name": "q", "ask": "in_switch", "candidate": "H100", "workload": "9B"}]),
         ["scenario.json:/questions/0/workload:", "8B"]),
    ],
)
def test_what_is_wrong_is_said_before_the_work(scenario, parts, tmp_path, meshwright):
    """A scenario that is mended is another one, and results in a store are of the one before."""
    store = tmp_path / "results.sqlite"
    refused(meshwright("whatif", write(tmp_path, scenario), "--store", store), *parts)
    assert not store.exists()


def test_a_question_about_what_cannot_run_is_answered(tmp_path, meshwright):
    scenario = {**with_candidate(node={"accelerator": "A100-SXM4-40GB"}, cluster="dgx-a100"),
                "workloads": [{**WORKLOAD, "model": "llama-3.1-70b", "fix": ["tp=1", "pp=1", "zero_stage=0"]}, WORKLOAD],
                "questions": [{"name": "q", "ask": "compare", "candidates": ["H100", "other"], "workload": "70B"}]}
    scenario["workloads"][0]["name"] = "70B"
    result = meshwright("whatif", write(tmp_path, scenario), "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)["answers"][0]
    assert answer["lines"] == [answer["answer"]["violation"]] and "cannot run 70B" in answer["lines"][0]


def test_one_token_is_one_step(tmp_path, meshwright):
    answer = json.loads(meshwright("whatif", write(tmp_path, with_workload(tokens=1)), "--json").stdout)
    for row in answer["results"]:
        assert row["days"] * 86400 == pytest.approx(row["step_time_s"], rel=0.2)
        assert row["cost_usd"] > 0 and 0 < row["goodput"] <= 1


def test_a_cycle_of_includes_is_refused(tmp_path, meshwright):
    write(tmp_path, {"include": "b.json"}, "a.json")
    write(tmp_path, {"include": "a.json"}, "b.json")
    refused(meshwright("whatif", tmp_path / "a.json"), "a.json", "includes itself")


def test_a_fault_in_an_included_file_is_found_there(tmp_path, meshwright):
    write(tmp_path, {"prices": {"pue": 0.2}}, "prices.json")
    refused(meshwright("whatif", write(tmp_path, changed(include="prices.json"))), "prices.json:/prices/pue:", "from 1 to 5")


def test_limits_that_nothing_keeps_are_an_answer(tmp_path, meshwright):
    path = write(tmp_path, changed(constraints={"deadline": "1 h", "cost": "1 USD"}))
    result = meshwright("whatif", path, "--json")
    assert result.returncode == 1, result.stderr
    answer = json.loads(result.stdout)
    assert answer["best"] == {"8B": None}
    assert all(row["meets"] == {"cost": False, "deadline": False} for row in answer["results"])
    assert answer["unlimited"]["8B"]["candidate"] in ("H100", "H200")


def test_what_fits_nowhere_is_an_answer(tmp_path, meshwright):
    result = meshwright("whatif", write(tmp_path, with_workload(model="llama-3.1-405b")), "--json")
    assert result.returncode == 1, result.stderr
    answer = json.loads(result.stdout)
    assert all("violation" in row for row in answer["results"])
    assert answer["unlimited"] == {"8B": None}


def hostile_scenario():
    return {
        "name": HOSTILE,
        "description": HOSTILE,
        "workloads": [{**WORKLOAD, "name": HOSTILE}],
        "candidates": [
            {"name": "=cmd|' /C calc'!A0", "cluster": "dgx-h100", "nodes": 2},
            {"name": HOSTILE, "cluster": "dgx-h200", "nodes": 2,
             "prices": {"energy": {"value": "0.08 $/kWh", "source": HOSTILE}}},
        ],
        "questions": [{"name": HOSTILE, "ask": "compare", "candidates": ["=cmd|' /C calc'!A0", HOSTILE]}],
    }


def test_hostile_names_are_inert(tmp_path, meshwright):
    page, table = tmp_path / "report.html", tmp_path / "report.csv"
    result = meshwright("whatif", write(tmp_path, hostile_scenario()), "--json", "--html", page, "--csv", table)
    assert result.returncode == 0, result.stderr
    html = page.read_text()
    assert "<script" not in html and "<img" not in html and "onerror=alert(2)>" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "default-src 'none'" in html, "a policy that lets nothing run"
    for needle in ("http://", "https://", "src=", "@import", "url("):
        assert needle not in html.replace("http-equiv", "") or needle in ("http://", "https://", "src="), needle
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [row["candidate"] for row in rows] == ["'=cmd|' /C calc'!A0", HOSTILE]
    assert json.loads(result.stdout)["results"][1]["candidate"] == HOSTILE


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-headless-shell")


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine (Debian: chromium-headless-shell)")
def test_the_page_renders_and_runs_nothing(tmp_path, meshwright):
    page = tmp_path / "report.html"
    assert meshwright("whatif", write(tmp_path, hostile_scenario()), "--html", page).returncode == 0
    shown = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         "--virtual-time-budget=2000", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=110,
    )
    assert shown.returncode == 0, shown.stderr
    dom = shown.stdout
    assert "<script" not in dom and "<img" not in dom, "names became markup"
    assert dom.count("<table") >= 3 and "<svg" in dom and "<circle" in dom
    assert "&lt;script&gt;" in dom
    assert "Where every number comes from" in dom


SWEEP = {
    "name": "sweep",
    "uncertainty": {"draws": 16},
    "workloads": [WORKLOAD, {**WORKLOAD, "name": "long", "tokens": "1T"}],
    "candidates": [
        {"name": "H100", "cluster": "dgx-h100",
         "vary": {"nodes": [1, 2, 4, 8], "oversubscription": [1, 2, 4], "nic_bandwidth": ["200 Gb/s", "400 Gb/s"]}},
    ],
}


def test_a_sweep_killed_twenty_times_goes_on_where_it_was(tmp_path, meshwright):
    path, store = write(tmp_path, SWEEP), tmp_path / "results.sqlite"
    whole = meshwright("whatif", path, "--json")
    assert whole.returncode == 0, whole.stderr
    points = len(json.loads(whole.stdout)["results"])
    assert points == 48
    started = time.monotonic()
    assert meshwright("whatif", path, "--json", "--threads", 1).returncode == 0
    lasted = time.monotonic() - started
    wait = random.Random(1)
    killed = 0
    for _ in range(20):
        process = subprocess.Popen([program(), "whatif", str(path), "--store", str(store), "--threads", "1"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait.uniform(0, lasted / 8))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    assert killed >= 10, "it has to be killed at work to mean anything"
    resumed = meshwright("whatif", path, "--store", store, "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout) == json.loads(whole.stdout)
    again = meshwright("whatif", path, "--store", store, "--json")
    assert json.loads(again.stdout) == json.loads(whole.stdout)


def test_a_store_of_something_else_is_refused(tmp_path, meshwright):
    store = tmp_path / "results.sqlite"
    assert meshwright("whatif", write(tmp_path, SCENARIO), "--store", store).returncode == 0
    other = write(tmp_path, with_workload(tokens="200B"), "other.json")
    refused(meshwright("whatif", other, "--store", store), "results.sqlite", "another scenario")
    broken = tmp_path / "broken.sqlite"
    broken.write_text("no database" * 100)
    refused(meshwright("whatif", write(tmp_path, SCENARIO), "--store", broken), "broken.sqlite", "store")


def test_a_store_is_known_by_content(tmp_path, meshwright):
    """Not by names: an overlay, a model's or a cluster's file that changed makes other results."""
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192,
              "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256}
    model, store = tmp_path / "config.json", tmp_path / "results.sqlite"
    path = write(tmp_path, with_workload(model=str(model)))
    model.write_text(json.dumps(config))
    assert meshwright("whatif", path, "--store", store).returncode == 0
    assert meshwright("whatif", path, "--store", store).returncode == 0
    model.write_text(json.dumps({**config, "num_hidden_layers": 24}))
    refused(meshwright("whatif", path, "--store", store), "results.sqlite", "another scenario")
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    nic = {"name": "slow-nic", "bandwidth": "100 Gb/s", "ports": 1,
           "sources": [{"title": "test", "verification": "recalled", "confidence": "low"}]}
    (overlay / "nics.json").write_text(json.dumps({"description": "one", "nics": [nic]}))
    own = tmp_path / "own.sqlite"
    path = write(tmp_path, SCENARIO)
    assert meshwright("--hardware", overlay, "whatif", path, "--store", own).returncode == 0
    assert meshwright("--hardware", overlay, "whatif", path, "--store", own).returncode == 0
    (overlay / "nics.json").write_text(json.dumps({"description": "other", "nics": [nic]}))
    refused(meshwright("--hardware", overlay, "whatif", path, "--store", own), "own.sqlite", "another scenario")


def test_outputs_are_looked_at_before_the_work(tmp_path, meshwright):
    path = write(tmp_path, SCENARIO)
    refused(meshwright("whatif", path, "--csv", tmp_path), "--csv", "folder")
    refused(meshwright("whatif", path, "--html", tmp_path / "none" / "x.html"), "--html", "no folder")
    refused(meshwright("whatif", path, "--html", tmp_path / "x", "--csv", tmp_path / "x"), "x", "also the file of")
    refused(meshwright("whatif", path, "--store", path), "--store", "scenario itself")
    assert json.loads(path.read_text()) == SCENARIO


def test_a_full_disk_loses_nothing(tmp_path, meshwright):
    """Written up to a limit of the file's size, and gone on with above it."""
    path, store = write(tmp_path, SWEEP), tmp_path / "results.sqlite"

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))

    full = subprocess.run([program(), "whatif", str(path), "--store", str(store), "--threads", "1"], preexec_fn=small,
                          capture_output=True, text=True, timeout=300)
    refused(full, "results.sqlite")
    assert "cannot be written" in full.stderr or "disk is full" in full.stderr, full.stderr
    whole, after = meshwright("whatif", path, "--json"), meshwright("whatif", path, "--store", store, "--json")
    assert after.returncode == 0, after.stderr
    assert json.loads(after.stdout) == json.loads(whole.stdout)


def test_outputs_that_cannot_be_written_say_so(tmp_path, meshwright):
    path = write(tmp_path, SCENARIO)
    for flag in ("--csv", "--html"):
        refused(meshwright("whatif", path, flag, "/dev/full"), "/dev/full", "cannot be written")


def test_two_programs_may_share_a_store(tmp_path, meshwright):
    path, store = write(tmp_path, SWEEP), tmp_path / "results.sqlite"
    command = [program(), "whatif", str(path), "--store", str(store), "--threads", "1", "--json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert json.loads(outputs[0][0]) == json.loads(outputs[1][0])


def test_control_c_says_how_to_go_on(tmp_path, meshwright):
    path, store = write(tmp_path, {**SWEEP, "uncertainty": {"draws": 4096}}), tmp_path / "results.sqlite"
    process = subprocess.Popen([program(), "whatif", str(path), "--store", str(store), "--threads", "1"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not store.exists() or store.stat().st_size == 0:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1, said
    assert said.startswith("meshwright: interrupted after") and "goes on from there" in said, said


def test_a_site_that_cannot_feed_the_cluster_is_an_answer(tmp_path, meshwright):
    scenario = with_candidate(vary={"site_power": ["40 kW", "18 kW", "6 kW"]})
    answer = json.loads(meshwright("whatif", write(tmp_path, scenario), "--json").stdout)
    rows = {r["candidate"]: r for r in answer["results"]}
    usual, capped = rows["other site_power=40 kW"], rows["other site_power=18 kW"]
    assert usual["days"] == pytest.approx(rows["H100"]["days"], rel=1e-3)
    assert capped["days"] > usual["days"] and capped["step_time_s"] > usual["step_time_s"]
    assert capped["power_mw"] <= 0.018 * 1.0001
    assert "site power" in rows["other site_power=6 kW"]["violation"]


def test_the_size_from_which_another_wins(tmp_path, meshwright):
    scenario = changed(questions=[
        {"name": "size", "ask": "break_even", "between": ["H100", "H200"], "vary": "nodes", "range": [1, 8], "candidate": "both"},
        {"name": "one", "ask": "break_even", "between": ["H100", "H200"], "vary": "nodes", "range": [1, 16],
         "candidate": "H100", "of": "days"},
    ])
    answer = json.loads(meshwright("whatif", write(tmp_path, scenario), "--json").stdout)
    both, one = (a["answer"] for a in answer["answers"])
    counts = [row["nodes"] for row in both["counts"]]
    assert {1, 2, 4, 8} <= set(counts) and counts == sorted(counts)
    assert all(row["best"] in ("H100", "H200") for row in both["counts"])
    assert one["best_at_low"] == "H200" and one["best_at_high"] == "H100", "more nodes are faster than two better ones"
    rows = {row["nodes"]: row for row in one["counts"]}
    assert rows[16]["H100"] < rows[2]["H100"] and rows[16]["H200"] == rows[2]["H200"]


def test_every_number_has_a_formula_or_a_source(tmp_path, meshwright):
    answer = json.loads(meshwright("whatif", write(tmp_path, SCENARIO), "--json").stdout)
    run = answer["best"]["8B"]["run"]
    assert run["power"]["value"] == pytest.approx(run["power_mw"] * 1e6)
    assert run["energy"]["value"] == pytest.approx(run["energy_mwh"] * 3.6e9)
    assert run["carbon"]["value"] == pytest.approx(run["carbon_t"] * 1000)
    assert run["step"]["value"] == pytest.approx(run["step_time_s"])

    def leaves(term):
        parts = term.get("parts") or []
        return [leaf for part in parts for leaf in leaves(part)] or [term]

    for tree in ("step", "time", "cost", "capex", "power", "energy", "carbon"):
        for leaf in leaves(run[tree]):
            assert leaf.get("formula") or leaf.get("source"), leaf["name"]
        assert sum(leaf["value"] for leaf in leaves(run[tree])) == pytest.approx(run[tree]["value"])
    text = " ".join(answer["assumptions"])
    for name in ("prices.energy", "power.compute", "failures.rate_factor", "checkpoint.store_write"):
        assert name in text


def test_power_that_nobody_publishes_is_said_to_be_missing(meshwright):
    ask = ["plan", "--model", "llama-3-70b", "--cluster", "tpu-v5p-pod", "--framework", "maxtext", "--global-batch", 1120, "--seq-len", 4096,
           "--tokens", "15T"]
    assert "without the accelerators, whose power is not published" in meshwright(*ask).stdout
    assert json.loads(meshwright(*ask, "--json").stdout)["best"]["run"]["power_known"] is False
