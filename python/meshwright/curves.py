"""Collectives over message sizes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from . import pages
from ._meshwright import Cluster, collective, readable
from .documents import Document, parsed

#: Message sizes of nccl-tests' usual sweep, in bytes: 1 KiB to 8 GiB.
USUAL_SIZES = tuple(2**power for power in range(10, 34))


def size_text(size: float) -> str:
    """A message size as people of collectives say it: 1 MiB for powers of two, else decimal."""
    for unit, one in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= one and size % (one / 2) == 0:
            return f"{size / one:g} {unit}"
    return readable(size, "B")


@dataclass(frozen=True, repr=False)
class CollectiveCurve(Document):
    """Time and bandwidth of a collective over message sizes: iterates over rows as nccl-tests prints them."""

    name: str  #: what it is and where

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row a size: bytes, time_us, algbw_gbps and busbw_gbps [GB/s], algo, proto, limiting_link."""
        rows: list[dict[str, Any]] = parsed(self.text, type(self).__name__, list)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The name and the rows."""
        return {"name": self.name, "rows": self.rows}

    def _repr_html_(self) -> str:
        return pages.table(
            self.name,
            [
                {
                    "size": size_text(row["bytes"]),
                    "time": readable(row["time_us"] * 1e-6, "s"),
                    "bus bandwidth": readable(row["busbw_gbps"] * 1e9, "B/s"),
                    "by": f"{row['algo']} {row['proto']}",
                    "limited by": row["limiting_link"],
                }
                for row in self.rows
            ],
        )

    def __repr__(self) -> str:
        return f"<CollectiveCurve {self.name}>"


def collective_curve(
    name: str,
    *,
    cluster: Cluster,
    sizes: Iterable[float] = USUAL_SIZES,
    ranks: int = 0,
    stride: int = 1,
    algorithm: str = "",
    protocol: str = "",
) -> CollectiveCurve:
    """Time a collective over message sizes [B], as `meshwright collective` does.

    `ranks` that are `stride` apart, all of the cluster where 0; `algorithm` and `protocol` as NCCL names them, the
    library's own choice for each size where "".
    """
    rows = collective(
        name, cluster=cluster, sizes=list(sizes), ranks=ranks, stride=stride, algorithm=algorithm, protocol=protocol
    )
    forced = " ".join(part for part in (algorithm, protocol) if part)
    about = f"{name} on {ranks or cluster.accelerators} x {cluster.accelerator.name}{', ' if forced else ''}{forced}"
    return CollectiveCurve(json.dumps(rows), about)
