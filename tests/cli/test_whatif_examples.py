"""Every scenario of examples/whatif runs, answers what it asks, and docs/capacity.md tells its figures.

`pytest tests/cli/test_whatif_examples.py --slow --update` writes the figures of the document anew.
"""

import json
import re

import pytest

from conftest import ROOT

EXAMPLES = sorted(p for p in (ROOT / "examples/whatif").glob("*.json") if p.stem != "prices")
DOCUMENT = ROOT / "docs/capacity.md"
# Searches on tens of thousands of accelerators, or over every size that a sum of money buys.
SLOW = {"ib-or-roce-32k", "generations"}
ANSWERS = {}


def examples():
    return [pytest.param(p, id=p.stem, marks=[pytest.mark.slow] if p.stem in SLOW else []) for p in EXAMPLES]


def answered(path, meshwright):
    if path not in ANSWERS:
        result = meshwright("whatif", path, "--json", timeout=3000)
        assert result.returncode in (0, 1), result.stderr
        ANSWERS[path] = json.loads(result.stdout)
    return ANSWERS[path]


def dollars(value):
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"${value / size:.3g} {unit}"
    return f"${value:.3g}"


def row(result):
    if "violation" in result:
        return f"| {result['candidate']} | {result['workload']} | {result['gpus']:,} | {result['violation']} | | | |"
    bought = "rented" if result["rented"] else dollars(result["capex_usd"])
    return (
        f"| {result['candidate']} | {result['workload']} | {result['gpus']:,} | {result['days']:.1f} | "
        f"{result['goodput'] * 100:.1f} % | {bought} | {dollars(result['cost_usd'])} |"
    )


def figures(answer):
    """The part of the document that comes from the command."""
    lines = ["| candidate | workload | GPUs | days | goodput | purchase | cost |", "|---|---|---:|---:|---:|---:|---:|"]
    lines += [row(result) for result in answer["results"]]
    for asked in answer["answers"]:
        lines += ["", f"*{asked['name']}*:"] + [f"- {line}" for line in asked["lines"]]
    return "\n".join(lines)


def block(stem):
    return re.compile(rf"(<!-- figures of {re.escape(stem)} -->\n)(.*?)(\n<!-- end -->)", flags=re.S)


@pytest.mark.parametrize("path", examples())
def test_the_document_tells_what_the_command_says(path, meshwright, request):
    text = DOCUMENT.read_text()
    assert block(path.stem).search(text), f"docs/capacity.md has no figures of {path.stem}"
    shown = figures(answered(path, meshwright))
    if request.config.getoption("--update"):
        DOCUMENT.write_text(block(path.stem).sub(lambda m: m[1] + shown + m[3], text))
    assert block(path.stem).search(DOCUMENT.read_text())[2] == shown, "run with --update and look at it"


def of(answer, candidate, workload=None):
    return next(r for r in answer["results"] if r["candidate"] == candidate and workload in (None, r["workload"]))


def asked(answer, name):
    return next(a["answer"] for a in answer["answers"] if a["name"] == name)


def example(name):
    return ROOT / f"examples/whatif/{name}.json"


def test_hashed_ethernet_is_never_faster_than_adaptive(meshwright):
    answer = answered(example("ib-or-roce"), meshwright)
    for nodes in (128, 1024):
        times = {f: of(answer, f"{f} nodes={nodes}", "experts")["step_time_s"] for f in ("InfiniBand", "RoCE hashed", "RoCE adaptive")}
        assert times["RoCE hashed"] >= times["RoCE adaptive"] * 0.9999
    rows = asked(answer, "congestion at 1,024 GPUs")["rows"]
    shares = {r["profile"]: r for r in rows if r["traffic"] == "pipeline sends"}
    assert shares["pfc"]["slowest"] <= shares["pfc-qp32"]["slowest"] <= shares["spectrum-x"]["slowest"]
    assert shares["pfc"]["mean"] <= shares["dcqcn"]["mean"] / 0.95 + 1e-9, "head-of-line blocking costs victims"
    assert shares["dcqcn"]["victims"] == 0


def test_oversubscription_hurts_experts_more(meshwright):
    answer = answered(example("oversubscription"), meshwright)
    slow = {w: of(answer, "network oversubscription=[7]", w)["step_time_s"] /
            of(answer, "network oversubscription=[1]", w)["step_time_s"] for w in ("dense", "experts")}
    assert 1 <= slow["dense"] < slow["experts"]


def test_nics_beyond_the_slot_bring_nothing(meshwright):
    answer = answered(example("nics"), meshwright)
    step = {(n, b): of(answer, f"B200 nics={n} nic_bandwidth={b}")["step_time_s"]
            for n in (4, 8) for b in ("400 Gb/s", "800 Gb/s", "1.6 Tb/s", "3.2 Tb/s")}
    assert step[8, "400 Gb/s"] <= step[4, "400 Gb/s"]
    assert step[8, "3.2 Tb/s"] == pytest.approx(step[8, "800 Gb/s"], rel=1e-3), "a PCIe 5 slot carries no more"
    costs = [of(answer, f"B200 nics=8 nic_bandwidth={b}")["capex_usd"] for b in ("400 Gb/s", "800 Gb/s", "1.6 Tb/s", "3.2 Tb/s")]
    assert costs[0] < costs[-1], "what brings nothing is not free"


def test_the_size_that_was_found_keeps_the_deadline(meshwright):
    answer = answered(example("size-70b"), meshwright)
    size = asked(answer, "in 30 days")
    assert size["days"] <= 30
    # 6 x 70e9 x 15e12 FLOPs at 35 to 50 % of 989 TFLOP/s in 30 days: 4,900 to 7,000 accelerators.
    assert 4000 <= size["gpus"] <= 8192
    spot, bought = of(answer, "spot"), of(answer, "rented")
    assert spot["days"] > bought["days"] and spot["cost_usd"] < bought["cost_usd"]


def test_checkpoints_at_scale(meshwright):
    answer = answered(example("checkpoints"), meshwright)
    # 419 interruptions in 54 days and over 90 % effective time (Llama 3, Table 5 and section 3.3.4).
    assert asked(answer, "16,384 GPUs")["mtbf_s"] / 3600 == pytest.approx(3.1, rel=0.05)
    assert of(answer, "16,384 GPUs, store")["goodput"] > 0.9
    for name in ("16,384 GPUs", "16,384 GPUs with copies in a peer's memory"):
        a = asked(answer, name)
        assert abs(a["closed_form"] - a["simulated"]) <= 0.01 * a["simulated"] + a["simulated_half_width"]
    large = answered(example("checkpoints-100k"), meshwright)
    assert asked(large, "store")["mtbf_s"] / 60 == pytest.approx(22.96, rel=0.01), "5 of 1,000 nodes and day, 12,544 nodes"
    assert of(large, "peer")["goodput"] > of(large, "store")["goodput"]
    assert of(large, "peer, ten spares")["goodput"] < of(large, "peer")["goodput"]


def test_a_leaf_or_cable_of_a_dual_plane_costs_little(meshwright):
    # Alibaba HPN, SIGCOMM 2024: a lost link of 16 costs 6.25 % of the throughput; a single plane halts.
    answer = answered(example("topologies"), meshwright)
    assert of(answer, "dual plane", "dense")["goodput"] > of(answer, "rail-optimised", "dense")["goodput"] - 0.01


def test_two_planes_go_on(meshwright):
    answer = answered(example("dual-plane"), meshwright)
    assert asked(answer, "two planes")["survives_leaf"] and not asked(answer, "one plane")["survives_leaf"]
    assert asked(answer, "two planes")["interruptions"] < asked(answer, "one plane")["interruptions"]
    # A whole plane, all hosts at half their network, costs less than a tenth of the time that it is out.
    assert asked(answer, "two planes")["maintenance_lost_s"] < 0.1 * asked(answer, "two planes")["maintenance_s"]


def test_optical_slices(meshwright):
    answer = answered(example("optical-slices"), meshwright)
    experts, dense = asked(answer, "experts"), asked(answer, "dense")
    spread = {name: max(p["worst_step_s"] / p["step_s"] for p in a["phases"]) for name, a in (("dense", dense), ("experts", experts))}
    assert spread["experts"] >= spread["dense"] >= 1
    assert experts["optical"] >= experts["wired"]


def test_tensor_parallelism_wants_one_domain(meshwright):
    answer = answered(example("tensor-parallel"), meshwright)
    loss = {c: of(answer, c, "tp 16")["step_time_s"] / of(answer, c, "tp 8")["step_time_s"]
            for c in ("domains of 8, 800G a GPU", "NVL72")}
    assert loss["NVL72"] < loss["domains of 8, 800G a GPU"]
    assert loss["domains of 8, 800G a GPU"] > 1.1


def test_the_slowest_percent(meshwright):
    answer = answered(example("slowest"), meshwright)
    assert asked(answer, "one percent")["gain"] >= asked(answer, "half a percent")["gain"] > 0.01
    assert asked(answer, "one percent")["pays"]
