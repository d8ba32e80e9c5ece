"""Answers as values: a document that compares, hashes, copies and pickles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import frames, pages

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Document:
    """An answer with a list of rows in it; iterates over them."""

    text: str  #: the whole answer as JSON

    def to_dict(self) -> dict[str, Any]:
        """The whole answer; units stand in the keys."""
        document: dict[str, Any] = json.loads(self.text)
        return document

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The list that the answer is about."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> pd.DataFrame:
        """One row each; columns carry their unit, as `step_time_s`."""
        return frames.to_dataframe(self.rows)

    def _repr_html_(self) -> str:
        return pages.table(repr(self), [frames.flat(row) for row in self.rows])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)}>"
