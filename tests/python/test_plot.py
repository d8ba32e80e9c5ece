"""Plots: what they show is what the values say, in units that people read, and matplotlib draws all of them."""

import math

import pytest

import meshwright as mw


@pytest.fixture(scope="module")
def job():
    return mw.Job(model=mw.model("llama-3.1-8b"), cluster=mw.cluster("dgx-h100", nodes=8), seq_len=8192, global_batch=128)


@pytest.fixture(scope="module")
def prediction(job):
    return mw.predict(job, mw.Layout(tp=2, pp=4, dp=8))


@pytest.fixture(scope="module")
def figures(job, prediction):
    rows = mw.collective_curve("all_reduce", cluster=job.cluster, ranks=8)
    jobs = [job.replace(cluster=job.cluster.replace(nodes=nodes)) for nodes in (2, 4, 8)]
    return {
        "waterfall": mw.waterfall(prediction),
        "difference": mw.waterfall(prediction, against=mw.predict(job, mw.Layout(tp=4, pp=2, dp=8))),
        "timeline": mw.timeline(prediction),
        "stage_memory": mw.stage_memory(prediction),
        "busbw": mw.busbw({"8 GPUs": rows}),
        "layout_map": mw.layout_map(mw.sweep(job, tp=[1, 2, 4, 64], pp=[1, 2], micro_batch=[1, 2])),
        "mfu": mw.layout_map(mw.search(job, top=20, variants=True), x="tp", y="dp", value="mfu"),
        "pareto": mw.pareto(mw.search(job, pareto=["time", "memory"])),
        "scaling": mw.scaling(mw.search(j, top=1)[0] for j in jobs),
    }


def test_waterfall_ends_with_the_step(figures, prediction):
    bars = figures["waterfall"].data[0]
    assert math.isclose(bars.y[-1], prediction.step_time) and math.isclose(sum(bars.y[:-1]), prediction.step_time)
    assert bars.text[-1] == mw.readable(prediction.step_time, "s")
    difference = figures["difference"].data[0]
    assert math.isclose(sum(difference.y[:-1]), difference.y[-1]) and difference.y[0] == prediction.step_time


def test_timeline_has_every_slice(figures, prediction):
    bars = figures["timeline"].data
    assert sum(len(trace.x) for trace in bars) == len([s for s in prediction.timeline() if s["end_s"] > s["start_s"]])
    last = max(base + length for trace in bars for base, length in zip(trace.base, trace.x))
    assert last == pytest.approx(prediction.step_time, rel=0.02)


def test_long_timelines_are_cut(job):
    big = mw.Job(model=mw.model("llama-3.1-405b"), cluster=mw.cluster("dgx-h100", nodes=128), seq_len=8192, global_batch=4096)
    figure = mw.timeline(mw.search(big, top=1, fix={"pp": 16, "tp": 8})[0])
    assert sum(len(trace.x) for trace in figure.data) <= 4000
    assert "the first" in figure.layout.title.text


def test_bars_of_memory_end_at_what_is_reserved(figures, prediction):
    bars = [trace for trace in figures["stage_memory"].data if trace.type == "bar"]
    for stage, memory in enumerate(prediction.memory_by_stage):
        assert sum(trace.y[stage] for trace in bars) == pytest.approx(memory["reserved"])
    device = next(trace for trace in figures["stage_memory"].data if trace.type == "scatter")
    assert set(device.y) == {prediction.job.cluster.accelerator.memory_capacity}


def test_map_is_blank_where_nothing_runs(figures, job):
    heat = figures["layout_map"].data[0]
    assert list(heat.x) == ["1", "2", "4", "64"] and list(heat.y) == ["1", "2"]
    assert [text == "" for text in heat.text[0]][-1], "64 does not divide 32 heads"
    best = min(mw.predict(job, mw.Layout(tp=2, dp=32, micro_batch=m)).step_time for m in (1, 2))
    assert heat.z[0][1] == best and heat.text[0][1] == mw.readable(best, "s")


def test_front_is_sorted_and_nothing_beats_it(figures):
    front = next(trace for trace in figures["pareto"].data if trace.name == "front")
    assert list(front.x) == sorted(front.x) and list(front.y) == sorted(front.y, reverse=True)


def test_points_are_named_as_the_program_names_layouts(figures, job):
    best = next(trace for trace in figures["pareto"].data if trace.name != "front")
    found = mw.search(job, pareto=["time", "memory"])
    assert [text.partition(":")[0] for text in best.hovertext] == [repr(p.layout)[len("<Layout ") : -1] for p in found]


def test_whiskers_reach_from_p10_to_p90(figures, job):
    best = next(trace for trace in figures["pareto"].data if trace.name != "front")
    for entry, time, up, down in zip(mw.search(job, pareto=["time", "memory"]).to_dict()["layouts"], best.y, best.error_y.array, best.error_y.arrayminus):
        assert time + up == pytest.approx(entry["p90_s"]) and time - down == pytest.approx(entry["p10_s"])
    assert min(best.error_x.array) > 0
    predicted = figures["scaling"].data[1]
    assert min(predicted.error_y.array) > 0 and min(predicted.error_y.arrayminus) > 0


def test_scaling_loses_against_the_line(figures):
    ideal, predicted = figures["scaling"].data
    assert list(predicted.x) == [16, 32, 64] and predicted.y[0] == ideal.y[0]
    assert all(real <= line * 1.001 for real, line in zip(predicted.y, ideal.y))


@pytest.mark.parametrize("axis, name, unit", [("yaxis", "waterfall", "s"), ("xaxis", "timeline", "s"), ("yaxis", "busbw", "B/s"),
                                              ("yaxis", "stage_memory", "B"), ("xaxis", "pareto", "B")])
def test_axes_have_si_ticks(figures, axis, name, unit):
    described = figures[name].layout[axis]
    assert (described.tickformat, described.ticksuffix) == ("~s", unit)


def test_matplotlib_draws_all_of_them(figures, tmp_path):
    pytest.importorskip("matplotlib")
    for name, figure in figures.items():
        drawn = mw.to_matplotlib(figure)
        drawn.savefig(tmp_path / f"{name}.png", dpi=60)
        assert (tmp_path / f"{name}.png").stat().st_size > 4000
        axes = drawn.axes[0]
        assert axes.patches or axes.lines or axes.images, name
    bars = [patch.get_height() for patch in mw.to_matplotlib(figures["waterfall"]).axes[0].patches]
    assert bars == pytest.approx(list(figures["waterfall"].data[0].y))
