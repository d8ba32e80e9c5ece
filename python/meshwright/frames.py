"""Results as pandas frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ._meshwright import Plan, SearchResult, Term

if TYPE_CHECKING:
    import pandas as pd


def flat(entry: Mapping[str, Any]) -> dict[str, Any]:
    """One row: nested objects become `outer.inner` columns; layout fields stand without a prefix; lists are left out."""
    row: dict[str, Any] = {}
    for key, value in entry.items():
        if isinstance(value, dict):
            prefix = "" if key == "layout" else f"{key}."
            row.update({f"{prefix}{inner}": v for inner, v in flat(value).items()})
        elif not isinstance(value, list):
            row[key] = value
    return row


def members(value: Any) -> dict[str, Any]:
    """What a value says of itself: its document, or its public properties of plain types."""
    if hasattr(value, "to_dict"):
        document: dict[str, Any] = value.to_dict()
        return document
    names = [n for n in dir(type(value)) if not n.startswith("_") and not callable(getattr(type(value), n))]
    found = {name: getattr(value, name) for name in names}
    return {name: v for name, v in found.items() if isinstance(v, (str, int, float, bool))}


def terms(term: Term, path: str = "") -> Iterator[dict[str, Any]]:
    """A breakdown as rows, parents before their parts."""
    name = f"{path}/{term.name}" if path else term.name
    yield {"term": name, "value": term.value, "unit": term.unit, "formula": term.formula, "source": term.source}
    for part in term.parts:
        yield from terms(part, name)


def rows(value: Any) -> list[dict[str, Any]]:
    """The rows that a value stands for."""
    if isinstance(value, Plan):
        value = value.result
    if isinstance(value, SearchResult):
        return [flat(entry) for entry in value.to_dict()["layouts"]]
    if isinstance(value, Term):
        return list(terms(value))
    if isinstance(value, Mapping):
        return [flat(value)]
    if hasattr(value, "rows"):
        return [flat(row) for row in value.rows]
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [row for part in value for row in rows(part)]
    return [flat(members(value))]


def to_dataframe(results: Any) -> pd.DataFrame:
    """A frame of anything that the package answers with, or of several of them: a row a layout, prediction, term or size.

    Columns carry their unit: `step_time_s`, `peak_memory_bytes`, `breakdown.compute_s`, ...
    """
    import pandas as pd

    return pd.DataFrame(rows(results))
