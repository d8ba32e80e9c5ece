"""Scenarios answered on any executor, with results that survive an interruption."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from . import pages
from ._meshwright import ResultStore, Scenario, readable
from .arguments import count
from .documents import Document
from .executors import Progress, computed, in_chunks, runs_tasks


@dataclass(frozen=True, repr=False)
class WhatIf(Document):
    """An answered scenario; `text` is the document of `meshwright whatif --json`."""

    csv: str  #: one line a result
    html: str  #: a page that needs nothing else

    @property
    def answer(self) -> dict[str, Any]:
        """The whole answer; units stand in the keys."""
        return self.to_dict()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row a result: a candidate with a workload."""
        return self.results

    @property
    def results(self) -> list[dict[str, Any]]:
        """The same: a candidate with a workload each."""
        results: list[dict[str, Any]] = self._member("results")
        return results

    def _repr_html_(self) -> str:
        return pages.table(
            repr(self),
            [
                {
                    "candidate": r["candidate"],
                    "workload": r["workload"],
                    "layout": r.get("layout_text", ""),
                    "days": r.get("days"),
                    "cost": readable(r["cost_usd"], "$") if r.get("cost_usd") is not None else "",
                    "power": readable(1e6 * r["power_mw"], "W") if r.get("power_mw") is not None else "",
                    "goodput": readable(r["goodput"], "%") if r.get("goodput") is not None else "",
                }
                for r in self.results
            ],
        )

    @property
    def best(self) -> dict[str, Any]:
        """The best candidate and why."""
        best: dict[str, Any] = self._member("best", kind=dict)
        return best


def whatif(
    scenario: Scenario | str | os.PathLike[str] | dict[str, Any],
    *,
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
    chunk: int = 16,
    progress: Callable[[int, int], None] | bool = False,
) -> WhatIf:
    """Answer a scenario: every candidate with every workload, each with a layout search of its own.

    `executor` is any :class:`concurrent.futures.Executor` (threads, processes, ``dask.distributed.Client.get_executor()``);
    the answer does not depend on it. `store` keeps results in a file and takes them up again after an interruption.
    `chunk` points go to a worker at once, and only a few chunks for each worker are under way: memory stays bounded.
    `progress` is called with the points done and all that are to do; ``True`` draws a bar with the time left.
    """
    count(chunk, "chunk")
    runs_tasks(executor)
    if isinstance(scenario, dict):
        scenario = Scenario.from_dict(scenario)
    elif not isinstance(scenario, Scenario):
        scenario = Scenario(pathlib.Path(scenario))
    kept = ResultStore(pathlib.Path(store), scenario) if store is not None else None
    lines: dict[int, str] = {}
    if kept is None:
        for part in _computed(scenario, list(range(scenario.points)), executor, chunk, progress):
            lines.update(part)
        return _concluded(scenario, [lines[i] for i in sorted(lines)])
    missing = [point for point in range(scenario.points) if not kept.has(point)]
    for part in _computed(scenario, missing, executor, chunk, progress):
        for point, line in part:
            kept.add(point, line)
        kept.commit()
    return _concluded(scenario, kept.lines())


def _concluded(scenario: Scenario, lines: list[str]) -> WhatIf:
    parts = scenario.conclude(lines)
    return WhatIf(json.dumps(parts["answer"]), parts["csv"], parts["html"])


def _evaluate(scenario: Scenario, points: list[int]) -> list[tuple[int, str]]:
    return list(zip(points, scenario.evaluate(points)))


def _computed(
    scenario: Scenario,
    points: list[int],
    executor: Executor | None,
    chunk: int,
    progress: Callable[[int, int], None] | bool,
) -> Iterator[list[tuple[int, str]]]:
    with Progress(progress, len(points), 0, "points") as told:
        for part in computed(_evaluate, in_chunks(points, chunk), scenario, executor=executor):
            yield part
            told.add(len(part))
