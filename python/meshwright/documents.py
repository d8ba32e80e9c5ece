"""Answers as values: a document that compares, hashes, copies and pickles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import frames, pages
from ._meshwright import Error

if TYPE_CHECKING:
    import pandas as pd


def parsed(text: str, where: str, kind: type = dict) -> Any:
    """The JSON of a document, which may come from a damaged file."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise Error(f"{where}: found a text that is no JSON") from None
    if not isinstance(document, kind):
        raise Error(f"{where}: found {type(document).__name__}, expected {kind.__name__}")
    return document


@dataclass(frozen=True)
class Document:
    """An answer with a list of rows in it; iterates over them."""

    text: str  #: the whole answer as JSON

    def to_dict(self) -> dict[str, Any]:
        """The whole answer; units stand in the keys."""
        document: dict[str, Any] = parsed(self.text, type(self).__name__)
        return document

    def _member(self, *path: str, kind: type = list) -> Any:
        """A part of the answer."""
        part: Any = self.to_dict()
        for key in path:
            if not isinstance(part, dict) or key not in part:
                raise Error(f"{type(self).__name__}: no '{key}' in it")
            part = part[key]
        if not isinstance(part, kind):
            raise Error(f"{type(self).__name__}: '{path[-1]}' is {type(part).__name__}, expected {kind.__name__}")
        return part

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
