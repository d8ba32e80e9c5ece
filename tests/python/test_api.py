"""The package as a notebook uses it."""

import json
import sys
import threading
import time
import types

import pytest

import meshwright as mw


@pytest.fixture(scope="module")
def job():
    return mw.Job(model=mw.model("llama-3.1-8b"), cluster=mw.cluster("dgx-h100", nodes=8), seq_len=8192, global_batch=128)


@pytest.fixture(scope="module")
def prediction(job):
    return mw.predict(job, mw.Layout(tp=2, dp=32))


def test_units_come_in_as_text_and_go_out_as_floats():
    assert mw.parse_bandwidth("400 Gb/s") == 50e9
    assert mw.parse_bytes("80 GB") == 80e9
    assert mw.parse_time("2.5 us") == pytest.approx(2.5e-6)
    cluster = mw.cluster("dgx-h100", nodes=2)
    assert cluster.node.nic_bandwidth == 50e9
    assert cluster.with_nic("800 Gb/s").node.nic_bandwidth == 100e9
    assert cluster.with_nic(12.5e9).node.nic_bandwidth == 12.5e9
    assert cluster.node.nic_bandwidth == 50e9, "with_nic makes a new cluster"


def test_terms_sum_to_the_step(prediction):
    assert sum(prediction.time.values()) == pytest.approx(prediction.step_time, rel=1e-12)
    tree = prediction.breakdown
    assert tree.value == pytest.approx(prediction.step_time, rel=1e-9)
    assert tree.total() == pytest.approx(prediction.step_time, rel=1e-9)
    assert all(part.value >= 0 for part in tree.parts)


def test_dict_has_the_keys_of_the_command_line(prediction):
    entry = prediction.to_dict()
    for key in ("layout", "step_time_s", "tokens_per_s_per_gpu", "mfu", "comm_share", "peak_memory_bytes", "breakdown"):
        assert key in entry
    assert entry["layout"]["tp"] == 2
    assert entry["step_time_s"] == prediction.step_time
    tokens = 128 * 8192 / 64 / prediction.step_time
    assert prediction.tokens_per_s_per_gpu == pytest.approx(tokens)


def test_what_if_difference_is_a_breakdown(job, prediction):
    other = mw.predict(job, mw.Layout(tp=4, dp=16))
    difference = prediction.breakdown.compare(other.breakdown)
    assert difference.value == pytest.approx(other.step_time - prediction.step_time)


def test_search_agrees_with_predict(job):
    result = mw.search(job, top=3)
    assert result.step_times == sorted(result.step_times)
    for layout, step_time in zip(result.layouts, result.step_times):
        assert mw.violation(job, layout) is None
        assert mw.predict(job, layout).step_time == step_time
    assert result.to_dict()["best"]["layout"] == result.layouts[0].to_dict()


def test_an_objective_is_one_function(job):
    def waste(outcome):
        return outcome.step_time * outcome.peak_memory

    found = mw.search(job, objective=waste, top=5)
    values = [p.step_time * p.peak_memory for p in found]
    assert found.objective == "waste"
    assert values == sorted(values) and values[0] < values[-1]
    fastest = mw.search(job, top=1)[0]
    assert values[0] <= fastest.step_time * fastest.peak_memory * (1 + 1e-9)


def test_frames(job, prediction):
    frame = mw.to_dataframe(mw.search(job, top=4))
    assert list(frame["step_time_s"]) == sorted(frame["step_time_s"])
    assert "breakdown.compute_s" in frame and "tp" in frame
    assert len(mw.to_dataframe([prediction, prediction])) == 2
    swept = mw.sweep(job, tp=[1, 2, 3], micro_batch=[1, 2])
    assert len(swept) == 6
    assert swept[swept.tp == 3]["violation"].notna().all()
    assert swept[swept.tp == 2]["violation"].isna().all()


def test_collective_rows(job):
    rows = mw.collective("all_reduce", cluster=job.cluster, ranks=8, sizes=[2**20, 2**30])
    assert rows[1]["busbw_gbps"] == pytest.approx(rows[1]["algbw_gbps"] * 2 * 7 / 8)
    assert rows[1]["time_us"] > rows[0]["time_us"]
    curve = mw.collective_curve("all_reduce", cluster=job.cluster, ranks=8, sizes=[2**20, 2**30])
    assert curve.rows == rows and list(curve) == rows and len(curve.to_frame()) == 2
    assert len(mw.collective_curve("all_gather", cluster=job.cluster)) == 24, "nccl-tests' usual sizes"


def test_memory_is_limited_to_a_size_or_a_share(job):
    for limit in ("40 GB", 40e9, "45%"):  # of 80 GiB
        assert mw.search(job, max_memory=limit, top=1)[0].peak_memory <= 40e9


def test_memory_of_every_stage(job):
    prediction = mw.predict(job, mw.Layout(tp=2, pp=4, dp=8))
    stages = prediction.memory_by_stage
    assert len(stages) == 4
    assert max(stage["reserved"] for stage in stages) == prediction.peak_memory
    assert stages[0]["activations"] > stages[3]["activations"], "1F1B keeps more micro-batches on early stages"
    assert set(stages[0]) == set(prediction.memory) | {"reserved"}


def test_timeline_ends_with_the_step(job):
    prediction = mw.predict(job, mw.Layout(tp=2, pp=4, dp=8))
    slices = prediction.timeline()
    assert {s["stage"] for s in slices} == {0, 1, 2, 3}
    assert max(s["end_s"] for s in slices) == pytest.approx(prediction.step_time, rel=0.02)
    forwards = [s for s in slices if s["what"] == "forward" and s["stage"] == 0]
    assert len(forwards) == 128 / 8, "micro-batches"


@pytest.mark.parametrize("way", ["dict", "folder", "file", "object"])
def test_models_of_hugging_face(way, tmp_path):
    config = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
              "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False}
    (tmp_path / "config.json").write_text(json.dumps(config))
    source = {"dict": config, "folder": tmp_path, "file": tmp_path / "config.json", "object": types.SimpleNamespace(to_dict=lambda: config)}
    model = mw.Model.from_huggingface(source[way], name="mine")
    assert model.name == "mine" and model.parameters.total == mw.model("llama-3.1-8b").parameters.total


def test_models_of_the_hub(tmp_path, monkeypatch):
    asked = []

    def hf_hub_download(name, file):
        asked.append((name, file))
        (tmp_path / "config.json").write_text(json.dumps({"model_type": "mamba"}))
        return str(tmp_path / "config.json")

    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(hf_hub_download=hf_hub_download))
    with pytest.raises(mw.Error, match="mamba"):
        mw.Model.from_huggingface("someone/some-model")
    assert asked == [("someone/some-model", "config.json")]
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(mw.Error, match="pip install huggingface_hub"):
        mw.Model.from_huggingface("someone/some-model")
    for wrong in (7, tmp_path / "missing.json"):
        with pytest.raises(mw.Error):
            mw.Model.from_huggingface(wrong)


def test_figures_for_people():
    assert mw.readable(0.0127, "s") == "12.7 ms" and mw.readable(450e9, "B/s") == "450 GB/s"
    assert mw.readable(0.417, "%") == "41.7 %"
    with pytest.raises(mw.Error, match="unit"):
        mw.readable(1.0, "parsec")


def test_the_lock_is_released():
    """A long search in one thread never stops another one for long."""
    job = mw.Job(model=mw.model("deepseek-v3"), cluster=mw.cluster("dgx-h100", nodes=256), seq_len=4096, global_batch=15360)
    took, gaps = [], []

    def work():
        start = time.perf_counter()
        mw.search(job, threads=1, top=50, variants=True)
        took.append(time.perf_counter() - start)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        start = time.perf_counter()
        time.sleep(0.001)
        gaps.append(time.perf_counter() - start)
    assert len(gaps) > 10 and max(gaps) < 0.5 * took[0], (max(gaps), took)


def test_models_and_hardware():
    assert mw.model("llama-3.1-405b").parameters.total == pytest.approx(405.85e9, rel=1e-3)
    assert {m.name for m in mw.models()} >= {"llama-3.1-8b", "deepseek-v3", "gpt3-175b"}
    h100 = next(a for a in mw.accelerators() if a.name == "H100-SXM5-80GB")
    assert h100.peak("bf16") == pytest.approx(989.4e12, rel=1e-3)
    assert h100.scale_up_bandwidth == 450e9, "per direction"


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: mw.model("lama-3.1-8b"), ["llama-3.1-8b"]),
        (lambda: mw.cluster("dgx-h1000"), ["dgx-h100"]),
        (lambda: mw.Layout(tq=8), ["tq"]),
        (lambda: mw.Layout(tp=0), ["tp", "0"]),
        (lambda: mw.parse_bandwidth("400"), ["Gb/s"]),
        (lambda: mw.collective("all_redcue", cluster=mw.cluster("dgx-h100"), sizes=[8]), ["all_reduce"]),
        (lambda: mw.accelerators()[0].peak("bf61"), ["bf16"]),
    ],
)
def test_errors_are_value_errors_of_one_line(call, parts):
    with pytest.raises(mw.Error) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    text = str(caught.value)
    assert "\n" not in text
    for part in parts:
        assert part in text


def test_a_layout_that_cannot_run_says_why(job):
    assert "heads" in mw.violation(job, mw.Layout(tp=64, dp=1))
    with pytest.raises(mw.Error, match="accelerators"):
        mw.predict(job, mw.Layout(tp=2, dp=31))
