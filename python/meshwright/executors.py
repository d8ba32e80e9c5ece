"""Work in chunks on any executor, with bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_chunks(items: Sequence[Item], chunk: int) -> Iterator[Sequence[Item]]:
    """Runs of at most `chunk` items."""
    return (items[i : i + chunk] for i in range(0, len(items), chunk))


def runs_tasks(executor: Executor | None) -> None:
    """TypeError where it is no executor."""
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor: found {type(executor).__name__}, expected an executor of concurrent.futures")


def _workers(executor: Executor) -> int:
    """How many tasks it does at once; this machine's cores where it doesn't tell."""
    client = getattr(executor, "_client", None)  # dask.distributed's ClientExecutor
    if client is not None and hasattr(client, "nthreads"):
        return max(1, int(sum(client.nthreads().values())))
    workers: int | None = getattr(executor, "_max_workers", None)  # the pools of concurrent.futures
    return workers or os.cpu_count() or 1


def computed(
    function: Callable[..., Result],
    chunks: Iterable[Any],
    *arguments: Any,
    executor: Executor | None = None,
) -> Iterator[Result]:
    """``function(*arguments, part)`` of every chunk, as they arrive.

    `executor` is any :class:`concurrent.futures.Executor`; threads of this process without one. Only a few chunks for
    each worker are under way: what is not yet asked for takes no memory.
    """
    pool = executor if executor is not None else ThreadPoolExecutor(os.cpu_count())
    most = 4 * _workers(pool)
    running: set[Future[Result]] = set()
    waiting = iter(chunks)
    try:
        while True:
            for part in waiting:
                running.add(pool.submit(function, *arguments, part))
                if len(running) >= most:
                    break
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
    finally:
        for future in running:
            future.cancel()
        if executor is None:
            pool.shutdown(cancel_futures=True)


class Progress:
    """Tells a caller's function, or draws tqdm's bar."""

    def __init__(self, wanted: Callable[[int, int], None] | bool, total: int, done: int, unit: str):
        self._tell = wanted if callable(wanted) else None
        self._done, self._total = done, total
        self._bar = None
        if wanted is True:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=total, initial=done, unit=unit)

    def add(self, count: int) -> None:
        self._done += count
        if self._bar is not None:
            self._bar.update(count)
        if self._tell is not None:
            self._tell(self._done, self._total)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
