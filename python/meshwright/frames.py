"""Results as pandas frames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def flat(entry: dict[str, Any]) -> dict[str, Any]:
    """One row: nested objects become `outer.inner` columns; layout fields stand without a prefix."""
    row: dict[str, Any] = {}
    for key, value in entry.items():
        if isinstance(value, dict):
            prefix = "" if key == "layout" else f"{key}."
            row.update({f"{prefix}{inner}": v for inner, v in value.items()})
        elif not isinstance(value, list):
            row[key] = value
    return row


def to_dataframe(results: Any) -> pd.DataFrame:
    """A frame of a SearchResult, of predictions, of layouts, or of rows of `collective`; one row each.

    Columns carry their unit: `step_time_s`, `peak_memory_bytes`, `breakdown.compute_s`, ...
    """
    import pandas as pd

    entries: Iterable[Any]
    if hasattr(results, "to_dict") and hasattr(results, "evaluated"):
        entries = results.to_dict()["layouts"]
    elif hasattr(results, "to_dict"):
        entries = [results]
    else:
        entries = results
    return pd.DataFrame([flat(e if isinstance(e, dict) else e.to_dict()) for e in entries])
