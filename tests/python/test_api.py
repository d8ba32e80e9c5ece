"""The package as a notebook uses it."""

import math

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
    assert len(mw.busbw({"auto": rows}).data) == 1


def test_waterfall(prediction):
    figure = mw.waterfall(prediction)
    assert math.isclose(figure.data[0].y[-1], 1e3 * prediction.step_time)


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
