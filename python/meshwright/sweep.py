"""Predictions over a grid of layouts or jobs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._meshwright import Job, Layout, predict, violation
from .frames import to_dataframe

if TYPE_CHECKING:
    import pandas as pd


def sweep(job: Job, **fields: Sequence[Any]) -> pd.DataFrame:
    """Predict every combination of layout fields; one row each, refused ones with the reason in `violation`.

    The data-parallel degree follows from the others where it isn't given. For example
    ``sweep(job, tp=[1, 2, 4, 8], pp=[1, 2, 4], micro_batch=[1, 2])``.
    """
    import pandas as pd

    frames = []
    for values in itertools.product(*fields.values()):
        chosen = dict(zip(fields.keys(), values))
        rest = chosen.get("tp", 1) * chosen.get("cp", 1) * chosen.get("pp", 1)
        chosen.setdefault("dp", max(1, job.accelerators // rest))
        layout = Layout(**chosen)
        reason = violation(job, layout)
        if reason is None:
            frames.append(to_dataframe(predict(job, layout)).assign(violation=None))
        else:
            frames.append(pd.DataFrame([{**layout.to_dict(), "violation": reason}]))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
