"""Plots, as plotly figures: seconds, bytes and rates with SI prefixes on every axis. `to_matplotlib` exports them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._meshwright import Error, Layout, Prediction, SearchResult, readable
from .arguments import of_type, one_of, text
from .curves import size_text

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas as pd
    import plotly.graph_objects as go

#: Slices that a browser still draws and scrolls smoothly; the rest of a timeline is left out, and said so.
MOST_SLICES = 4000
#: Where 10 % and 90 % of runs lie, of the figures that have a band.
BANDS = {"step_time_s": ("p10_s", "p90_s"), "peak_memory_bytes": ("peak_memory_p10_bytes", "peak_memory_p90_bytes")}
#: Bars of a waterfall: sums, terms, and terms of a difference that grow or shrink.
TOTAL, PART, WORSE, BETTER = "#2f4b6e", "#7ba3d0", "#e45756", "#54a24b"
#: What the slices of a timeline are, in words.
SLICE_COLOURS = {
    "forward": "#4c78a8",
    "backward_input": "#f58518",
    "backward_weight": "#eeca3b",
    "backward": "#f58518",
    "recompute": "#b279a2",
    "data_parallel": "#e45756",
    "optimizer": "#54a24b",
}


def waterfall(prediction: Prediction, against: Prediction | None = None, title: str | None = None) -> go.Figure:
    """Where the step time goes: one bar a term, the total last. With `against`, what each term adds to reach it."""
    import plotly.graph_objects as go

    of_type(prediction, Prediction, "prediction", "a Prediction")
    of_type(against, (Prediction, type(None)), "against", "a Prediction")
    start = [] if against is None else [("this", prediction.step_time, "absolute")]
    terms = prediction.time if against is None else {n: s - prediction.time[n] for n, s in against.time.items()}
    bars = [(name.replace("_", " "), seconds, "relative") for name, seconds in terms.items() if abs(seconds) > 1e-9]
    end = [("step", prediction.step_time, "total") if against is None else ("other", against.step_time, "total")]
    names, values, measures = zip(*(start + bars + end))
    figure = go.Figure(
        go.Waterfall(
            x=names,
            y=values,
            measure=measures,
            text=[readable(value, "s") for value in values],
            textposition="outside",
            hovertemplate="%{x}: %{text}<extra></extra>",
            cliponaxis=False,
            totals={"marker": {"color": TOTAL}},
            increasing={"marker": {"color": PART if against is None else WORSE}},
            decreasing={"marker": {"color": BETTER}},
        )
    )
    if against is None:
        return _dressed(figure, title or _words(prediction), y=_axis("time", "s"))
    heights = list(itertools.accumulate(values[:-1]))
    low, high = min(heights), max(heights)
    near = {"range": [max(0.0, low - 0.5 * (high - low)), high + 0.2 * (high - low)]} if high > low else {}
    usual = f"{_words(prediction)} → {_words(against)}"
    return _dressed(figure, title or usual, y={**_axis("time (axis cut)", "s"), **near})


def timeline(prediction: Prediction, title: str | None = None) -> go.Figure:
    """The pipeline of one step: a row a stage, a bar a pass of a micro-batch."""
    import plotly.graph_objects as go

    of_type(prediction, Prediction, "prediction", "a Prediction")
    slices = sorted(prediction.timeline(), key=lambda s: s["start_s"])
    shown = [s for s in slices[:MOST_SLICES] if s["end_s"] > s["start_s"]]
    figure = go.Figure()
    for what in dict.fromkeys(s["what"] for s in shown):
        part = [s for s in shown if s["what"] == what]
        figure.add_bar(
            name=what.replace("_", " "),
            orientation="h",
            y=[f"stage {s['stage']}" for s in part],
            base=[s["start_s"] for s in part],
            x=[s["end_s"] - s["start_s"] for s in part],
            marker={"color": SLICE_COLOURS.get(what), "line": {"width": 0.3, "color": "white"}},
            hovertext=[_slice_words(s) for s in part],
            hoverinfo="text",
        )
    text(title, "title")
    cut = "" if len(shown) == len(slices) else f" (the first {readable(shown[-1]['start_s'], 's')} of the step)"
    _dressed(figure, (title or _words(prediction)) + cut, x=_axis("time", "s"))
    stages = range(prediction.layout.pp)
    order = [f"stage {stage}" for stage in reversed(stages)]
    return figure.update_layout(barmode="overlay", yaxis={"categoryorder": "array", "categoryarray": order})


def stage_memory(prediction: Prediction, title: str | None = None) -> go.Figure:
    """What the memory of each pipeline stage holds, beside what a device has."""
    import plotly.graph_objects as go

    of_type(prediction, Prediction, "prediction", "a Prediction")
    memory = prediction.memory_by_stage
    stages = [f"stage {stage}" for stage in range(len(memory))]
    figure = go.Figure()
    for part in (name for name in memory[0] if name != "reserved"):
        sizes = [stage[part] for stage in memory]
        if max(sizes) > 0:
            figure.add_bar(name=part, x=stages, y=sizes, hovertext=[f"{part}: {readable(s, 'B')}" for s in sizes], hoverinfo="text")
    # What the allocator keeps beyond what is asked for, so that the bar ends at what has to fit.
    kept = [max(0.0, stage["reserved"] - sum(size for name, size in stage.items() if name != "reserved")) for stage in memory]
    if max(kept) > 0:
        figure.add_bar(name="fragmentation and run-ahead", x=stages, y=kept, marker={"color": "lightgrey"})
    capacity = prediction.job.cluster.accelerator.memory_capacity
    figure.add_scatter(
        name=f"device: {readable(capacity, 'B')}", x=stages, y=[capacity] * len(stages),
        mode="lines" if len(stages) > 1 else "markers", line={"color": "black", "dash": "dash"},
    )
    _dressed(figure, title or _words(prediction), y=_axis("memory of a device", "B"))
    return figure.update_layout(barmode="stack")


def busbw(curves: Mapping[str, Iterable[Mapping[str, Any]]] | Iterable[Mapping[str, Any]], title: str = "") -> go.Figure:
    """Bus bandwidth over message size, both axes logarithmic: one curve a name, or a single `collective_curve`."""
    import plotly.graph_objects as go

    named = curves if isinstance(curves, Mapping) else {getattr(curves, "name", "auto"): curves}
    figure = go.Figure()
    sizes: set[float] = set()
    for name, given in named.items():
        rows = list(given)
        for row in rows:
            of_type(row, Mapping, "curves", "rows of collective()")
            for key in ("bytes", "time_us", "busbw_gbps", "algo", "proto"):
                one_of(key, row, "curves")
        sizes.update(row["bytes"] for row in rows)
        figure.add_scatter(
            x=[row["bytes"] for row in rows],
            y=[1e9 * row["busbw_gbps"] for row in rows],
            name=name,
            mode="lines+markers",
            hovertext=[_row_words(row) for row in rows],
            hoverinfo="text+name",
        )
    ticks = sorted(sizes)[:: max(1, len(sizes) // 8)]
    x = {"type": "log", "title": "message size", "tickvals": ticks, "ticktext": [size_text(size) for size in ticks]}
    return _dressed(figure, title, x=x, y={**_axis("bus bandwidth", "B/s"), "type": "log"})


def layout_map(
    results: SearchResult | pd.DataFrame | Iterable[Prediction],
    x: str = "tp",
    y: str = "pp",
    value: str = "step_time_s",
    title: str = "",
) -> go.Figure:
    """A heat map of the best `value` for each pair of layout fields, as of a `sweep`; blank where nothing runs.

    The best is the largest of rates (`mfu`, `tokens_per_s_per_gpu`) and the smallest of all else.
    """
    import pandas as pd
    import plotly.graph_objects as go

    from .frames import to_dataframe

    frame = results if isinstance(results, pd.DataFrame) else to_dataframe(results)
    for name, column in (("x", x), ("y", y), ("value", value)):
        one_of(column, frame.columns, name)
    if not pd.api.types.is_numeric_dtype(frame[value]):
        raise Error(f"value: found {value!r}, expected a column of numbers")
    highest = value in ("mfu", "hfu", "tokens_per_s_per_gpu")
    table = frame.pivot_table(index=y, columns=x, values=value, aggfunc="max" if highest else "min", dropna=False)
    table = table.reindex(index=sorted(frame[y].unique()), columns=sorted(frame[x].unique()))
    unit = _unit(value)
    texts = [["" if pd.isna(v) else readable(v, unit) for v in row] for row in table.to_numpy(dtype=float)]
    figure = go.Figure(
        go.Heatmap(
            x=[str(v) for v in table.columns],
            y=[str(v) for v in table.index],
            z=table.to_numpy(dtype=float),
            text=texts,
            texttemplate="%{text}",
            colorscale="Viridis",
            reversescale=not highest,
            hovertemplate=f"{x} %{{x}}, {y} %{{y}}: %{{text}}<extra></extra>",
            colorbar={"title": value.removesuffix("_s").removesuffix("_bytes").replace("_", " "), **_ticks(unit)},
        )
    )
    return _dressed(figure, title, x={"type": "category", "title": x}, y={"type": "category", "title": y})


def pareto(
    result: SearchResult, x: str = "peak_memory_bytes", y: str = "step_time_s", title: str | None = None
) -> go.Figure:
    """Layouts by two figures, and those that none beats in both, of a ``search(job, pareto=["time", "memory"])``. Whiskers
    reach from P10 to P90."""
    import plotly.graph_objects as go

    of_type(result, SearchResult, "result", "a SearchResult")
    document = result.to_dict()
    figures = ("step_time_s", "peak_memory_bytes", "mfu", "hfu", "comm_share", "tokens_per_s_per_gpu")
    for name, column in (("x", x), ("y", y)):
        one_of(column, figures, name)
    front = sorted(document.get("pareto", []), key=lambda entry: entry[x])
    figure = go.Figure()
    for name, entries, mode in (("best by " + result.objective, document["layouts"], "markers"), ("front", front, "lines+markers")):
        if entries:
            figure.add_scatter(
                name=name, mode=mode, x=[entry[x] for entry in entries], y=[entry[y] for entry in entries],
                hovertext=[_entry_words(entry) for entry in entries], hoverinfo="text",
                error_x=_whiskers(entries, x), error_y=_whiskers(entries, y),
            )
    return _dressed(figure, title or repr(result.job)[1:-1], x=_axis(_words_of(x), _unit(x)), y={**_axis(_words_of(y), _unit(y)), "type": "log"})


def scaling(predictions: Iterable[Prediction], title: str = "") -> go.Figure:
    """Throughput over accelerators, beside the smallest of them scaled up without loss; the share of it as text. Whiskers
    reach from P10 to P90 of the step time."""
    import plotly.graph_objects as go

    predictions = list(predictions)
    for prediction in predictions:
        of_type(prediction, Prediction, "predictions", "a list of Predictions")
    if not predictions:
        raise Error("predictions: found none, expected one or more")
    points = sorted((p.job.accelerators, p.tokens_per_s_per_gpu, p) for p in predictions)
    counts = [count for count, _, _ in points]
    ideal = [count * points[0][1] for count in counts]
    figure = go.Figure()
    figure.add_scatter(name="without loss", x=counts, y=ideal, mode="lines", line={"color": "grey", "dash": "dash"})
    figure.add_scatter(
        name="predicted",
        x=counts,
        y=[count * rate for count, rate, _ in points],
        mode="lines+markers+text",
        text=[readable(rate / points[0][1], "%") for _, rate, _ in points],
        textposition="bottom right",
        error_y=_between(
            [count * rate for count, rate, _ in points],
            [count * rate * p.step_time / p.p90 for count, rate, p in points],
            [count * rate * p.step_time / p.p10 for count, rate, p in points],
        ),
        hovertext=[f"{_words(p)}: {readable(p.step_time, 's')}, MFU {readable(p.mfu, '%')}" for _, _, p in points],
        hoverinfo="text",
    )
    x = {"type": "log", "title": "accelerators", "tickvals": counts, "ticktext": [f"{count:,}" for count in counts]}
    return _dressed(figure, title, x=x, y={**_axis("throughput", "tokens/s"), "type": "log"})


def to_matplotlib(figure: go.Figure) -> matplotlib.figure.Figure:
    """The same plot by matplotlib (which has to be installed), for papers and PDF."""
    import plotly.graph_objects as go

    from .matplotlib_export import exported

    of_type(figure, go.Figure, "figure", "a figure of plotly")
    return exported(figure)


def _words(prediction: Prediction) -> str:
    return _layout_words(prediction.layout)


def _layout_words(layout: Layout) -> str:
    return repr(layout).removeprefix("<Layout ").removesuffix(">")


def _slice_words(s: Mapping[str, Any]) -> str:
    which = f" of micro-batch {s['micro_batch']}, chunk {s['chunk']}" if "micro_batch" in s else ""
    return f"{s['what'].replace('_', ' ')}{which}: {readable(s['end_s'] - s['start_s'], 's')}"


def _row_words(row: Mapping[str, Any]) -> str:
    rate = readable(1e9 * row["busbw_gbps"], "B/s")
    return f"{size_text(row['bytes'])}: {rate}, {readable(1e-6 * row['time_us'], 's')}, {row['algo']} {row['proto']}"


def _between(values: list[float], low: list[float], high: list[float]) -> dict[str, Any]:
    """Whiskers of points, from `low` to `high`."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [h - v for v, h in zip(values, high)],
        "arrayminus": [v - l for v, l in zip(values, low)],
        "thickness": 1,
    }


def _whiskers(entries: list[Mapping[str, Any]], column: str) -> dict[str, Any] | None:
    if column not in BANDS:
        return None
    low, high = BANDS[column]
    return _between(*([entry[c] for entry in entries] for c in (column, low, high)))


def _entry_words(entry: Mapping[str, Any]) -> str:
    layout = _layout_words(Layout(**entry["layout"]))
    return f"{layout}: {readable(entry['step_time_s'], 's')}, {readable(entry['peak_memory_bytes'], 'B')}"


def _unit(column: str) -> str:
    if column.endswith("_bytes"):
        return "B"
    if column.endswith("_s"):
        return "s"
    return "%" if column in ("mfu", "hfu", "comm_share") else ""


def _words_of(column: str) -> str:
    return column.removesuffix("_bytes").removesuffix("_s").replace("_", " ")


def _ticks(unit: str) -> dict[str, Any]:
    if unit == "%":
        return {"tickformat": ".0%"}
    return {"tickformat": "~s", "ticksuffix": unit}


def _axis(title: str, unit: str) -> dict[str, Any]:
    return {"title": title, **_ticks(unit)}


def _dressed(figure: go.Figure, title: str, x: Mapping[str, Any] | None = None, y: Mapping[str, Any] | None = None) -> go.Figure:
    text(title, "title")
    return figure.update_layout(title=title, xaxis=dict(x or {}), yaxis=dict(y or {}), template="plotly_white")
