"""Predictions beside measured runs, and figures fitted to them."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from . import pages
from ._meshwright import Error, _checked_runs, _fitted_runs, _write_file
from .documents import Document, parsed

#: One path or several.
Files = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class Validation(Document):
    """Runs with measured and predicted step time and memory; `groups` has the errors by stack, device, set, ..."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row a run: measured, predicted, relative errors (predicted / measured - 1), or why it was skipped."""
        runs: list[dict[str, Any]] = self._member("runs")
        return runs

    @property
    def groups(self) -> dict[str, dict[str, float]]:
        """Errors of step time by group: count, mape (mean absolute relative error), median_ape, p90_ape, bias."""
        groups: dict[str, dict[str, float]] = self._member("summary", "by_group", kind=dict)
        return groups

    def _repr_html_(self) -> str:
        return pages.table(repr(self), [{"group": name, **figures} for name, figures in self.groups.items()])


@dataclass(frozen=True, repr=False)
class Calibration(Document):
    """What own runs tell of device, links and stack; `text` is the overlay, a file for `hardware=` and `--hardware`."""

    figures: str  #: JSON of the figures that were fitted
    outcome: str  #: JSON of the errors before and after

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row a figure: of, figure, before, after, spread_before and spread_after (log units), told.

        `told` is the share of the figure's variance that the runs took away: 0 = they say nothing of it.
        """
        rows: list[dict[str, Any]] = parsed(self.figures, "Calibration", list)
        return rows

    @property
    def errors(self) -> dict[str, float]:
        """Runs (configurations), and mean_ape_before and mean_ape_after: mean absolute relative errors of their steps."""
        errors: dict[str, float] = parsed(self.outcome, "Calibration")
        return errors

    def write(self, folder: str | os.PathLike[str]) -> pathlib.Path:
        """Puts the overlay into a folder for `hardware=` and `--hardware`; gives the file."""
        file = pathlib.Path(folder) / "own-runs.json"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise Error(f"folder: {error}") from None
        _write_file(file, self.text)
        return file


def validate(
    records: Files = (),
    *,
    hardware: str | os.PathLike[str] | None = None,
    model: str = "",
    cluster: str = "",
    nodes: int = 0,
    gpus: int = 0,
    seq_len: int = 0,
) -> Validation:
    """Predict measured training runs and say how far off the predictions are.

    `records` are files of runs (.jsonl), job files with `measured`, or training logs as the stacks print them; the
    published runs that ship with the package where none is given. `hardware` is a folder of overlays. What logs do
    not say (none says its machine) `model`, `cluster`, `nodes`, `gpus` and `seq_len` (tokens) do.
    """
    files = _paths(records)
    return Validation(_checked_runs(files, hardware, model=model, cluster=cluster, nodes=nodes, gpus=gpus, seq_len=seq_len))


def calibrate(
    records: Files,
    *,
    hardware: str | os.PathLike[str] | None = None,
    model: str = "",
    cluster: str = "",
    nodes: int = 0,
    gpus: int = 0,
    seq_len: int = 0,
) -> Calibration:
    """Fit the figures of device, links and stack to runs of one site, as `meshwright calibrate runs` does.

    ``calibrate("train.log", cluster="dgx-h100").write("overlay")`` makes a folder for ``hardware="overlay"``, whose
    bands are what the runs leave open. `model` to `seq_len` say what logs do not, as for `validate`.
    """
    files = _paths(records)
    names = " ".join(file.name for file in files)
    overlay, figures, outcome = _fitted_runs(files, hardware, f"fitted by meshwright.calibrate to {names}", model=model,
                                             cluster=cluster, nodes=nodes, gpus=gpus, seq_len=seq_len)
    return Calibration(overlay, json.dumps(figures), json.dumps(outcome))


def _paths(files: Files) -> list[pathlib.Path]:
    if isinstance(files, (str, os.PathLike)):
        files = [files]
    return [pathlib.Path(file) for file in files]
