"""Plots, as plotly figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go


def waterfall(prediction: Any, title: str | None = None) -> go.Figure:
    """Where the step time goes: one bar a term [ms], the total last."""
    import plotly.graph_objects as go

    terms = {name: seconds for name, seconds in prediction.time.items() if seconds > 0}
    figure = go.Figure(
        go.Waterfall(
            x=[name.replace("_", " ") for name in terms] + ["step"],
            y=[1e3 * seconds for seconds in terms.values()] + [1e3 * prediction.step_time],
            measure=["relative"] * len(terms) + ["total"],
            hovertemplate="%{x}: %{y:.1f} ms<extra></extra>",
        )
    )
    figure.update_layout(title=title or repr(prediction.layout), yaxis_title="time [ms]", template="plotly_white")
    return figure


def busbw(curves: Mapping[str, Sequence[Mapping[str, Any]]] | Iterable[Mapping[str, Any]], title: str = "") -> go.Figure:
    """Bus bandwidth over message size, both axes logarithmic: one curve a name, or one for plain rows of `collective`."""
    import plotly.graph_objects as go

    named = curves if isinstance(curves, Mapping) else {"auto": list(curves)}
    figure = go.Figure()
    for name, rows in named.items():
        figure.add_scatter(
            x=[row["bytes"] for row in rows],
            y=[row["busbw_gbps"] for row in rows],
            name=name,
            mode="lines+markers",
            hovertext=[f"{row['algo']} {row['proto']}: {row['time_us']:.1f} us" for row in rows],
        )
    figure.update_layout(
        title=title,
        xaxis={"type": "log", "title": "message size [B]"},
        yaxis={"type": "log", "title": "bus bandwidth [GB/s]"},
        template="plotly_white",
    )
    return figure
