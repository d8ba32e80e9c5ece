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


def computed(
    function: Callable[..., Result],
    chunks: Iterable[Any],
    *arguments: Any,
    executor: Executor | None = None,
) -> Iterator[Result]:
    """``function(*arguments, part)`` of every chunk, as they arrive.

    `executor` is any :class:`concurrent.futures.Executor`; threads of this process without one. Only a few chunks for
    each core are under way: what is not yet asked for takes no memory.
    """
    pool = executor if executor is not None else ThreadPoolExecutor(os.cpu_count())
    most = 4 * (os.cpu_count() or 1)
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
