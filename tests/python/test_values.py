"""Every class is a value: it compares, hashes, copies and pickles, and what can be set is checked as a file would be."""

import copy
import inspect
import pickle

import pandas as pd
import pytest
from conftest import ROOT

import meshwright as mw
from meshwright import _meshwright


@pytest.fixture(scope="module")
def values():
    job = mw.Job(
        model=mw.model("mixtral-8x7b"), cluster=mw.cluster("dgx-h100", nodes=4), seq_len=4096, global_batch=256,
        recipe={"kernels": {"compiled": True}},
    )
    layout = mw.Layout(tp=2, pp=2, dp=8, ep=4)
    prediction = mw.predict(job, layout)
    result = mw.search(job, top=3, pareto=["time", "memory"])
    return [
        job, layout, prediction, result, mw.plan(job, top=2, why_not={"tp": 8}), job.model, job.model.parameters,
        job.cluster, job.cluster.node, job.cluster.network, job.cluster.accelerator, mw.accelerators()[0], mw.nodes()[0],
        mw.place_group(job.cluster, 16)[0], prediction.breakdown, mw.Scenario(ROOT / "examples/whatif/slowest.json"),
    ]


@pytest.fixture(scope="module")
def documents(values):
    """Answers whose classes are Python's."""
    return [
        mw.collective_curve("all_reduce", cluster=values[0].cluster, ranks=8, sizes=[2**20, 2**30]),
        mw.Validation('{"runs": [], "summary": {"by_group": {}}}'),
        mw.Calibration("{}", "[]", "{}"),
        mw.WhatIf('{"results": [], "best": {}}', "", ""),
    ]


def test_every_class_is_tried(values):
    classes = {c for _, c in inspect.getmembers(_meshwright, inspect.isclass) if c is not mw.Error}
    passing = {_meshwright.Outcome, _meshwright.ResultStore}  # lives while an objective looks at it; an open file
    assert classes - passing == {type(v) for v in values}


def test_values_come_back_equal(values, documents):
    for value in [*values, *documents]:
        for other in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
            assert other == value and hash(other) == hash(value), value
            assert repr(other) == repr(value)
            if hasattr(value, "to_dict"):
                assert other.to_dict() == value.to_dict()
        assert value != "something else"
        assert not repr(value).startswith("<meshwright."), "has a repr of its own"


def test_notebooks_show_every_value(values, documents):
    for value in [*values, *documents]:
        page = value._repr_html_()
        assert page.startswith("<table>") and page.count("<table>") == page.count("</table>")
        assert isinstance(value.to_frame(), pd.DataFrame)
    hostile = mw.Model(name="<script>alert(1)</script>", layers=2, hidden=256, heads=4, ffn_hidden=1024, vocab=1000)
    assert "<script>" not in hostile._repr_html_() and "&lt;script&gt;" in hostile._repr_html_()


def test_frames_of_values(values):
    job, layout, prediction, result = values[:4]
    assert result.to_frame()["step_time_s"].tolist() == result.step_times
    assert prediction.to_frame()["breakdown.compute_s"][0] == prediction.time["compute"]
    terms = prediction.breakdown.to_frame()
    assert terms["value"][0] == pytest.approx(prediction.step_time) and "/" in terms["term"][1]
    assert job.cluster.accelerator.to_frame()["memory_bandwidth"][0] == job.cluster.accelerator.memory_bandwidth
    assert mw.to_dataframe([prediction, prediction])["step_time_s"].tolist() == 2 * [prediction.step_time]


def test_everything_is_documented():
    """Every class, property and function says what it is; figures say their unit."""
    missing = []
    for name in mw.__all__:
        value = getattr(mw, name)
        if inspect.isclass(value) and value is not mw.Error:
            fields = {k: v for k, v in vars(value).items() if not k.startswith("_") and (callable(v) or isinstance(v, property))}
            missing += [f"{name}.{field}" for field, v in fields.items() if not _said(v)]
        if (inspect.isclass(value) or callable(value)) and not _said(value):
            missing.append(name)
    assert not missing
    for value in (mw.Prediction.step_time, mw.Prediction.p10, mw.Level.latency, mw.SearchResult.step_times, mw.Outcome.time):
        assert "econds" in value.__doc__ or "[s]" in value.__doc__


def _said(value):
    """The text of a docstring below the signatures that pybind11 puts first."""
    text = inspect.getdoc(value) or ""
    return "".join(line for line in text.splitlines() if "->" not in line).strip()


def test_different_values_differ(values):
    job, layout = values[0], values[1]
    assert layout != layout.replace(tp=4) and hash(layout) != hash(layout.replace(tp=4))
    assert job != job.replace(global_batch=128)
    assert job.cluster != job.cluster.replace(nodes=8)
    assert len({layout, mw.Layout(tp=2, pp=2, dp=8, ep=4), layout.replace(tp=4)}) == 2


def test_overlays_travel_with_a_pickle(tmp_path):
    (tmp_path / "mine.json").write_text(
        '{"description": "ours", "nodes": [{"name": "dgx-h100", "nic_bandwidth": "800 Gb/s"}]}')
    cluster = mw.cluster("dgx-h100", nodes=2, hardware=tmp_path)
    again = pickle.loads(pickle.dumps(cluster))
    assert again == cluster and again.node.nic_bandwidth == 100e9
    assert again != mw.cluster("dgx-h100", nodes=2)


def test_another_cluster_brings_its_overlays(tmp_path):
    (tmp_path / "mine.json").write_text(
        '{"description": "ours", "nodes": [{"name": "dgx-h100", "nic_bandwidth": "800 Gb/s"}]}')
    plain = mw.Job(model=mw.model("llama-3-8b"), cluster=mw.cluster("dgx-h100", nodes=2), seq_len=4096, global_batch=64)
    ours = plain.replace(cluster=mw.cluster("dgx-h100", nodes=2, hardware=tmp_path))
    assert ours.cluster.node.nic_bandwidth == 100e9 and plain.cluster.node.nic_bandwidth == 50e9


def test_lists_of_hardware_honour_overlays(tmp_path, monkeypatch):
    (tmp_path / "mine.json").write_text("""{"description": "ours",
        "accelerators": [{"name": "H100-SXM5-80GB", "tdp": "650 W"}],
        "nodes": [{"name": "dgx-h100", "nic_bandwidth": "800 Gb/s"}],
        "clusters": [{"name": "ours", "node": "dgx-h100", "nodes": 7}]}""")
    plain = {a.name: a.tdp for a in mw.accelerators()}
    named = {a.name: a for a in mw.accelerators(hardware=tmp_path)}
    assert (plain["H100-SXM5-80GB"], named["H100-SXM5-80GB"].tdp) == (700, 650)
    assert pickle.loads(pickle.dumps(named["H100-SXM5-80GB"])).tdp == 650
    assert {n.name: n.nic_bandwidth for n in mw.nodes(hardware=tmp_path)}["dgx-h100"] == 100e9
    assert "ours" not in {c.name for c in mw.clusters()}
    monkeypatch.setenv("MESHWRIGHT_HARDWARE", str(tmp_path))
    assert {a.name: a.tdp for a in mw.accelerators()}["H100-SXM5-80GB"] == 650
    assert {n.name: n.nic_bandwidth for n in mw.nodes()}["dgx-h100"] == 100e9
    assert {c.name: c.nodes for c in mw.clusters()}["ours"] == 7


def test_replace_says_something_else():
    cluster = mw.cluster("dgx-h100", nodes=4)
    assert cluster.replace(network={"oversubscription": [4]}).network.oversubscription == [4]
    job = mw.Job(model=mw.model("llama-3.1-8b"), cluster=cluster, seq_len=8192, global_batch=128)
    other = job.replace(global_batch=256, cluster=cluster.replace(nodes=8), model=job.model.replace(layers=16))
    assert (other.global_batch, other.accelerators, other.model.layers) == (256, 64, 16)
    assert job.replace(precision="fp8").precision == "fp8" and job.replace(precision=None).precision == "bf16"


def test_results_iterate():
    job = mw.Job(model=mw.model("llama-3.1-8b"), cluster=mw.cluster("dgx-h100"), seq_len=8192, global_batch=128)
    result = mw.search(job, top=3)
    assert [p.layout for p in result] == result.layouts and result[-1] == result[len(result) - 1]
    plan = mw.plan(job, top=3)
    assert [p.layout for p in plan] == result.layouts and len(plan) == 3
    assert [part.name for part in result[0].breakdown] == [part.name for part in result[0].breakdown.parts]
    with pytest.raises(IndexError):
        result[len(result)]


@pytest.mark.parametrize("field, bad", [
    ("tp", 0), ("vp", 0), ("pp", -1), ("dp", 1 << 30), ("micro_batch", 0), ("zero_stage", 4), ("tp", "8"), ("tp", 1.5),
    ("sequence_parallel", 1), ("recompute", "some"), ("schedule", "fastest"), ("cp_kind", "rings"), ("etp", 0),
])
def test_setters_check_as_the_reader_does(field, bad):
    layout = mw.Layout(tp=2, pp=2, dp=2)
    with pytest.raises(mw.Error, match=field):
        setattr(layout, field, bad)
    with pytest.raises(mw.Error, match=field):
        mw.Layout(**{field: bad})
    assert layout == mw.Layout(tp=2, pp=2, dp=2), "a refused value changes nothing"


def test_setters_set():
    layout = mw.Layout()
    layout.tp, layout.recompute, layout.tp_comm_overlap, layout.cp_kind = 8, "full", True, "ulysses"
    assert layout == mw.Layout(tp=8, recompute="full", tp_comm_overlap=True, cp_kind="ulysses")
    assert mw.Layout().etp is None and mw.Layout(etp=2).etp == 2


def test_keyword_parameters_are_known_to_editors():
    first = mw.Layout.__init__.__doc__.splitlines()[0]
    for field in mw.Layout(etp=1, cp_kind="ring").to_dict():
        assert f"{field}:" in first, field


def test_models_are_checked():
    model = mw.model("nemotron-h-8b") if "nemotron-h-8b" in [m.name for m in mw.models()] else mw.model("llama-3.1-8b")
    with pytest.raises(mw.Error):
        model.layers = 0
    with pytest.raises(mw.Error):
        mw.cluster("dgx-h100").with_nic(-1.0)
    with pytest.raises(mw.Error):
        mw.place_group(mw.cluster("dgx-h100"), 16)
    mine = mw.Model(name="mine", layers=2, hidden=256, heads=4, ffn_hidden=1024, vocab=1000)
    assert mine.head_dim == 64 and mine.parameters.total > 1e6
