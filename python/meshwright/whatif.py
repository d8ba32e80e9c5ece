"""Scenarios answered on any executor, with results that survive an interruption."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._meshwright import ResultStore, Scenario
from .executors import computed, in_chunks

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class WhatIf:
    """An answered scenario."""

    answer: dict[str, Any]  #: the document of `meshwright whatif --json`
    csv: str  #: one line a result
    html: str  #: a page that needs nothing else

    @property
    def results(self) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = self.answer["results"]
        return results

    @property
    def best(self) -> dict[str, Any]:
        best: dict[str, Any] = self.answer["best"]
        return best

    def to_dataframe(self) -> pd.DataFrame:
        """One row a result."""
        import pandas as pd

        return pd.DataFrame(self.results)


def whatif(
    scenario: Scenario | str | os.PathLike[str] | dict[str, Any],
    *,
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
    chunk: int = 16,
    progress: Callable[[int, int], None] | None = None,
) -> WhatIf:
    """Answer a scenario: every candidate with every workload, each with a layout search of its own.

    `executor` is any :class:`concurrent.futures.Executor` (threads, processes, ``dask.distributed.Client.get_executor()``);
    the answer does not depend on it. `store` keeps results in a file and takes them up again after an interruption.
    `chunk` points go to a worker at once, and only a few chunks for each worker are under way: memory stays bounded.
    """
    if isinstance(scenario, dict):
        scenario = Scenario.from_dict(scenario)
    elif not isinstance(scenario, Scenario):
        scenario = Scenario(pathlib.Path(scenario))
    kept = ResultStore(pathlib.Path(store), scenario) if store is not None else None
    lines: dict[int, str] = {}
    if kept is None:
        for part in _computed(scenario, list(range(scenario.points)), executor, chunk, progress):
            lines.update(part)
        return WhatIf(**scenario.conclude([lines[i] for i in sorted(lines)]))
    missing = [point for point in range(scenario.points) if not kept.has(point)]
    for part in _computed(scenario, missing, executor, chunk, progress):
        for point, line in part:
            kept.add(point, line)
        kept.commit()
    return WhatIf(**scenario.conclude(kept.lines()))


def _evaluate(scenario: Scenario, points: list[int]) -> list[tuple[int, str]]:
    return list(zip(points, scenario.evaluate(points)))


def _computed(
    scenario: Scenario,
    points: list[int],
    executor: Executor | None,
    chunk: int,
    progress: Callable[[int, int], None] | None,
) -> Iterator[list[tuple[int, str]]]:
    done = 0
    for part in computed(_evaluate, in_chunks(points, chunk), scenario, executor=executor):
        done += len(part)
        yield part
        if progress is not None:
            progress(done, len(points))
