"""Scenarios answered on any executor, with results that survive an interruption."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._meshwright import ResultStore, Scenario

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
        return self.answer["results"]

    @property
    def best(self) -> dict[str, Any]:
        return self.answer["best"]

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
        lines.update(_computed(scenario, range(scenario.points), executor, chunk, progress))
        return WhatIf(**scenario.conclude([lines[i] for i in sorted(lines)]))
    missing = [point for point in range(scenario.points) if not kept.has(point)]
    for point, line in _computed(scenario, missing, executor, chunk, progress):
        kept.add(point, line)
        kept.commit()
    return WhatIf(**scenario.conclude(kept.lines()))


def _evaluate(scenario: Scenario, points: list[int]) -> list[tuple[int, str]]:
    return list(zip(points, scenario.evaluate(points)))


def _computed(scenario, points, executor, chunk, progress) -> Iterator[tuple[int, str]]:
    points = list(points)
    chunks = [points[i : i + chunk] for i in range(0, len(points), chunk)]
    own = executor is None
    pool = ThreadPoolExecutor(os.cpu_count()) if own else executor
    done = 0
    try:
        for part in _in_order_of_arrival(pool, scenario, chunks):
            done += len(part)
            yield from part
            if progress is not None:
                progress(done, len(points))
    finally:
        if own:
            pool.shutdown(cancel_futures=True)


def _in_order_of_arrival(pool: Executor, scenario: Scenario, chunks: list[list[int]]) -> Iterator[list[tuple[int, str]]]:
    most = 4 * (os.cpu_count() or 1)
    running: set[Future] = set()
    waiting = iter(chunks)
    while True:
        for part in waiting:
            running.add(pool.submit(_evaluate, scenario, part))
            if len(running) >= most:
                break
        if not running:
            return
        finished, running = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            yield future.result()

