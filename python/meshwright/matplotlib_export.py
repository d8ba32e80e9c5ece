"""The figures of `plot` by matplotlib: the kinds of traces and axes that they are made of."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    import matplotlib.figure
    import plotly.graph_objects as go


def exported(figure: go.Figure) -> matplotlib.figure.Figure:
    """A matplotlib figure with the same traces, axes and title."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(8, 4.5), layout="constrained")
    axes = canvas.add_subplot()
    stacked: dict[Any, float] | None = {} if figure.layout.barmode == "stack" else None
    for trace in figure.data:
        DRAWN[trace.type](axes, trace, stacked)
    _dress(axes, axes.xaxis, figure.layout.xaxis, "x")
    _dress(axes, axes.yaxis, figure.layout.yaxis, "y")
    if figure.layout.title.text:
        axes.set_title(figure.layout.title.text, fontsize="medium", wrap=True)
    if len(figure.data) > 1:
        canvas.legend(fontsize="small", loc="outside right upper")
    return canvas


def _values(array: Any) -> list[Any]:
    """Of a trace: as they stand, or as plotly packs them in documents."""
    if not isinstance(array, dict):
        return list(array)
    flat = numpy.frombuffer(base64.b64decode(array["bdata"]), dtype=array["dtype"])
    shape = [int(side) for side in str(array.get("shape", len(flat))).split(",")]
    return list(flat.reshape(shape))


def _waterfall(axes: Any, trace: Any, _: Any) -> None:
    at = 0.0
    for name, value, measure, text in zip(trace.x, _values(trace.y), trace.measure, trace.text):
        base = at if measure == "relative" else 0.0
        kind = trace.totals if measure != "relative" else trace.increasing if value > 0 else trace.decreasing
        axes.bar(name, value, bottom=base, color=kind.marker.color)
        axes.annotate(text, (name, max(base, base + value)), ha="center", va="bottom", fontsize="small")
        at = base + value
    axes.tick_params(axis="x", labelrotation=30)


def _bar(axes: Any, trace: Any, stacked: dict[Any, float] | None) -> None:
    style: dict[str, Any] = {"label": trace.name}
    if trace.marker.color is not None:
        style["color"] = trace.marker.color
    if trace.orientation == "h":
        axes.barh(_values(trace.y), _values(trace.x), left=_values(trace.base), **style)
        return
    below = stacked if stacked is not None else {}
    axes.bar(_values(trace.x), _values(trace.y), bottom=[below.get(name, 0.0) for name in _values(trace.x)], **style)
    for name, value in zip(_values(trace.x), _values(trace.y)):
        below[name] = below.get(name, 0.0) + value


def _scatter(axes: Any, trace: Any, _: Any) -> None:
    line = {"dash": "--", "dot": ":"}.get(trace.line.dash, "-") if "lines" in trace.mode else ""
    marker = "o" if "markers" in trace.mode else ""
    axes.plot(_values(trace.x), _values(trace.y), linestyle=line, marker=marker, markersize=4, label=trace.name, color=trace.line.color)
    errors = {"xerr": trace.error_x, "yerr": trace.error_y}
    whiskers = {key: [_values(e.arrayminus), _values(e.array)] for key, e in errors.items() if e.array is not None}
    if whiskers:
        axes.errorbar(_values(trace.x), _values(trace.y), fmt="none", elinewidth=0.8, ecolor="grey", **whiskers)
    if "text" in trace.mode:
        for x, y, text in zip(_values(trace.x), _values(trace.y), trace.text):
            axes.annotate(text, (x, y), xytext=(4, -10), textcoords="offset points", fontsize="small")


def _heatmap(axes: Any, trace: Any, _: Any) -> None:
    from matplotlib.ticker import EngFormatter

    heights = _values(trace.z)
    image = axes.imshow(heights, origin="lower", aspect="auto", cmap="viridis_r" if trace.reversescale else "viridis")
    axes.set_xticks(range(len(_values(trace.x))), labels=_values(trace.x))
    axes.set_yticks(range(len(_values(trace.y))), labels=_values(trace.y))
    for row, texts in enumerate(trace.text):
        for column, text in enumerate(texts):
            light = sum(image.cmap(image.norm(heights[row][column]))[:3]) > 1.5
            axes.annotate(text, (column, row), ha="center", va="center", fontsize="small", color="black" if light else "white")
    bar = axes.figure.colorbar(image, label=trace.colorbar.title.text)
    if trace.colorbar.tickformat == "~s":
        bar.formatter = EngFormatter(unit=trace.colorbar.ticksuffix or "")


#: How each kind of trace is drawn.
DRAWN: dict[str, Callable[[Any, Any, dict[Any, float] | None], None]] = {
    "waterfall": _waterfall,
    "bar": _bar,
    "scatter": _scatter,
    "heatmap": _heatmap,
}


def _dress(axes: Any, axis: Any, described: Any, which: str) -> None:
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, NullLocator, PercentFormatter

    if described.type == "log":
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        low, high = axis.get_data_interval()
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
        axis.set_minor_formatter(NullFormatter())
    elif described.range is not None:
        (axes.set_xlim if which == "x" else axes.set_ylim)(*described.range)
    if described.title.text:
        axis.set_label_text(described.title.text)
    if described.tickformat == "~s":
        axis.set_major_formatter(EngFormatter(unit=described.ticksuffix or ""))
    elif described.tickformat == ".0%":
        axis.set_major_formatter(PercentFormatter(1.0))
    if described.tickvals is not None:
        axis.set_minor_locator(NullLocator())
        axis.set_ticks(list(described.tickvals), labels=list(described.ticktext))
    if described.categoryarray is not None:
        wanted: Sequence[str] = described.categoryarray
        axes.invert_yaxis() if wanted and wanted[0] != "stage 0" else None
