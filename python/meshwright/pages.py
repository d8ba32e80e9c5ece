"""What a notebook shows of a value: small tables as HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import frames
from ._meshwright import Plan, Prediction, SearchResult, Term, readable

#: Rows that a notebook shows; frames have them all.
MOST_ROWS = 20
#: Columns of a table of layouts: heading, and how a row's text is made.
LAYOUT_COLUMNS = ("layout", "step time", "MFU", "memory", "communication", "against the best")


def table(caption: str, rows: Sequence[Mapping[str, Any]], note: str = "") -> str:
    """Rows as an HTML table; whatever they hold is text."""
    shown = rows[:MOST_ROWS]
    columns = list(dict.fromkeys(column for row in shown for column in row))
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(cell(row.get(column)) for column in columns)}</tr>" for row in shown)
    notes = [note] if note else []
    if len(rows) > len(shown):
        notes.append(f"{len(rows) - len(shown)} more rows: to_frame()")
    below = "".join(f"<p>{html.escape(text)}</p>" for text in notes)
    return f"<table><caption>{html.escape(caption)}</caption><tr>{head}</tr>{body}</table>{below}"


def cell(value: Any) -> str:
    """Figures to the right, with four digits."""
    if isinstance(value, float):
        return f'<td style="text-align:right">{value:.4g}</td>'
    side = "right" if isinstance(value, int) and not isinstance(value, bool) else "left"
    return f'<td style="text-align:{side}">{html.escape("" if value is None else str(value))}</td>'


def page(value: Any) -> str:
    """The table of any value of the package."""
    if isinstance(value, Plan):
        return layouts(value.result) + table("what would help most", helps(value))
    if isinstance(value, SearchResult):
        return layouts(value)
    if isinstance(value, Prediction):
        return prediction(value)
    if isinstance(value, Term):
        return table(repr(value), [{**row, "value": readable(row["value"], row["unit"])} for row in frames.terms(value)])
    return table(repr(value), [{"": key, " ": shown} for key, shown in frames.flat(frames.members(value)).items()])


def layouts(result: SearchResult) -> str:
    """A row a layout, as `meshwright plan` prints its runners-up."""
    entries: Iterable[Mapping[str, Any]] = result.to_dict()["layouts"]
    texts = [
        (
            short(p),
            readable(p.step_time, "s"),
            readable(p.mfu, "%"),
            f"{readable(p.peak_memory, 'B')}",
            readable(p.comm_share, "%"),
            entry.get("why", ""),
        )
        for p, entry in zip(result, entries)
    ]
    note = "; ".join(f"{rule} {count}" for rule, count in result.refused) if not texts else ""
    return table(repr(result), [dict(zip(LAYOUT_COLUMNS, row)) for row in texts], note)


def short(prediction: Prediction) -> str:
    """The layout in the words of the command line."""
    return repr(prediction.layout).removeprefix("<Layout ").removesuffix(">")


def helps(plan: Plan) -> list[dict[str, str]]:
    return [
        {"": h["what"], "change": h["change"], "step": readable(h["step_time_s"], "s"), "gain": readable(h["gain"], "%")}
        for h in plan.helps
    ]


def prediction(value: Prediction) -> str:
    """Where the time goes and what the memory holds."""
    time = [
        {"time": name.replace("_", " "), "": readable(seconds, "s"), "share": readable(seconds / value.step_time, "%")}
        for name, seconds in value.time.items()
        if seconds > 0
    ]
    memory = [{"memory": name, "": readable(size, "B")} for name, size in value.memory.items() if size > 0]
    figures = (
        f"P10-P90 {readable(value.p10, 's')} to {readable(value.p90, 's')}; MFU {readable(value.mfu, '%')}; "
        f"{readable(value.tokens_per_s_per_gpu, '')} tokens/s/GPU; memory {readable(value.peak_memory, 'B')}, "
        f"{readable(value.fits_probability, '%')} that it fits"
    )
    return table(repr(value), time, figures) + table("memory of the worst stage", memory, " ".join(value.warnings))
