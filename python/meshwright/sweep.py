"""Predictions over a grid of layouts and jobs."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from ._meshwright import Error, Job, Layout, __version__, predict, violation
from .arguments import count, of_type, short
from .documents import parsed
from .executors import Progress, computed, in_chunks, runs_tasks
from .frames import flat

if TYPE_CHECKING:
    import pandas as pd

#: Points that a sweep may have: their rows are held in memory.
MOST_POINTS = 1_000_000
#: Tables of a store.
TABLES = {"sweep", "rows"}
#: One point: its number, the job's, and the layout's fields.
Point = tuple[int, int, dict[str, Any]]


def sweep(
    job: Job | Sequence[Job],
    *,
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
    chunk: int = 64,
    progress: Callable[[int, int], None] | bool = False,
    **fields: Sequence[Any],
) -> pd.DataFrame:
    """Predict every combination of jobs and layout fields; one row each, refused ones with the reason in `violation`.

    The data-parallel degree follows from the others where it isn't given. For example
    ``sweep(job, tp=[1, 2, 4, 8], pp=[1, 2, 4], micro_batch=[1, 2])``.

    `executor` is any :class:`concurrent.futures.Executor` (threads, processes, ``dask``'s ``client.get_executor()``);
    the answer does not depend on it. `store` is an SQLite file that keeps the rows: a sweep that was stopped goes on
    where it was. `chunk` points go to a worker at once. `progress` is called with the points done and all; ``True``
    draws a bar where tqdm is installed.
    """
    import pandas as pd

    jobs = [job] if isinstance(job, Job) else list(job)
    for one in jobs:
        of_type(one, Job, "job", "a Job or several")
    count(chunk, "chunk")
    runs_tasks(executor)
    wanted = len(jobs) * math.prod(len(values) for values in fields.values())
    if wanted > MOST_POINTS:
        raise Error(f"sweep: found {wanted} points, expected at most {MOST_POINTS}")
    points = list(_points(jobs, fields))
    with _Store(store, jobs, fields) as kept:
        missing = [point for point in points if point[0] not in kept.rows]
        with Progress(progress, len(points), len(points) - len(missing), "layouts") as told:
            for rows in computed(_predicted, in_chunks(missing, chunk), jobs, executor=executor):
                kept.add(rows)
                told.add(len(rows))
        return pd.DataFrame([kept.rows[number] for number, _, _ in points])


def _points(jobs: Sequence[Job], fields: dict[str, Sequence[Any]]) -> Iterator[Point]:
    number = itertools.count()
    for index, job in enumerate(jobs):
        for values in itertools.product(*fields.values()):
            chosen = dict(zip(fields.keys(), values))
            rest = chosen.get("tp", 1) * chosen.get("cp", 1) * chosen.get("pp", 1)
            chosen.setdefault("dp", max(1, job.accelerators // max(1, rest)))
            yield next(number), index, chosen


def _predicted(jobs: Sequence[Job], points: Sequence[Point]) -> dict[int, dict[str, Any]]:
    rows = {}
    for number, index, chosen in points:
        layout = Layout(**chosen)
        reason = violation(jobs[index], layout)
        entry = predict(jobs[index], layout).to_dict() if reason is None else {"layout": layout.to_dict()}
        about = {"job": index} if len(jobs) > 1 else {}
        rows[number] = {**about, **flat(entry), "violation": reason}
    return rows


class _Store:
    """Rows by the number of their point, in memory and, with a path, in a file that outlives the process."""

    def __init__(self, path: str | os.PathLike[str] | None, jobs: Sequence[Job], fields: dict[str, Sequence[Any]]):
        self.rows: dict[int, dict[str, Any]] = {}
        self._path = path
        self._file: sqlite3.Connection | None = None
        if path is None:
            return
        question = [__version__, [job.to_dict() for job in jobs], {key: list(values) for key, values in fields.items()}]
        asked = hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
        try:
            self._file = sqlite3.connect(path)
            self._read(asked)
        except (sqlite3.Error, ValueError) as error:  # ValueError: names with a NUL, rows that are no JSON
            self.__exit__()
            raise error if isinstance(error, Error) else self._refusal(str(error)) from None

    def _refusal(self, why: str) -> Error:
        return Error(f"{self._name()}: {why}, expected a store of a sweep")

    def _name(self) -> str:
        return short(os.fsdecode(self._path or ""))

    def _read(self, asked: str) -> None:
        assert self._file is not None
        tables = {name for (name,) in self._file.execute("SELECT name FROM sqlite_master WHERE type <> 'index'")}
        if tables and tables != TABLES:  # somebody else's: nothing is written into it
            raise self._refusal("found a database of something else")
        with self._file:
            self._file.execute("CREATE TABLE IF NOT EXISTS sweep (asked TEXT)")
            self._file.execute("CREATE TABLE IF NOT EXISTS rows (point INTEGER PRIMARY KEY, row TEXT)")
            known = self._file.execute("SELECT asked FROM sweep").fetchone()
            if known is None:
                self._file.execute("INSERT INTO sweep VALUES (?)", (asked,))
        if known is not None and known[0] != asked:
            raise Error(f"{self._name()}: holds another sweep; expected the same jobs and fields, or another file")
        for point, row in self._file.execute("SELECT point, row FROM rows"):
            self.rows[point] = parsed(str(row), f"{self._name()}: row of a sweep")

    def add(self, rows: dict[int, dict[str, Any]]) -> None:
        self.rows.update(rows)
        if self._file is None:
            return
        try:
            with self._file:  # all of the chunk or none of it
                self._file.executemany(
                    "INSERT OR REPLACE INTO rows VALUES (?, ?)", [(n, json.dumps(row)) for n, row in rows.items()]
                )
        except sqlite3.Error as error:
            raise self._refusal(str(error)) from None

    def __enter__(self) -> _Store:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
