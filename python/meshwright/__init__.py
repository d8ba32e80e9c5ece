"""Performance modelling and capacity planning for distributed training of large models.

>>> import meshwright as mw
>>> job = mw.Job(model=mw.model("llama-3.1-405b"), cluster=mw.cluster("dgx-h100", nodes=2048),
...              seq_len=8192, global_batch=2048)
>>> result = mw.search(job, top=5)
>>> result.to_frame()

Numbers are floats in base units (seconds, bytes, FLOP, dollars); arguments may also be strings with a unit.
Bad input raises :class:`meshwright.Error`, a :class:`ValueError`.
"""

from ._meshwright import (
    Accelerator,
    Cluster,
    Error,
    Job,
    Layout,
    Level,
    Model,
    Network,
    Node,
    Outcome,
    ParameterCounts,
    Plan,
    Prediction,
    ResultStore,
    Scenario,
    SearchResult,
    Term,
    __version__,
    accelerators,
    cluster,
    clusters,
    collective,
    launcher_flags,
    model,
    models,
    nodes,
    parse_bandwidth,
    parse_bytes,
    parse_time,
    place_group,
    plan,
    predict,
    readable,
    run,
    search,
    violation,
)
from .accuracy import Calibration, Validation, calibrate, validate
from .curves import CollectiveCurve, collective_curve
from .frames import to_dataframe
from .plot import busbw, layout_map, pareto, scaling, stage_memory, timeline, to_matplotlib, waterfall
from .sweep import sweep
from .whatif import WhatIf, whatif

#: The name that models had before.
Transformer = Model

__all__ = [
    "Accelerator",
    "Calibration",
    "Cluster",
    "CollectiveCurve",
    "Error",
    "Job",
    "Layout",
    "Level",
    "Model",
    "Network",
    "Node",
    "Outcome",
    "ParameterCounts",
    "Plan",
    "Prediction",
    "ResultStore",
    "Scenario",
    "SearchResult",
    "Term",
    "Transformer",
    "Validation",
    "WhatIf",
    "__version__",
    "accelerators",
    "busbw",
    "calibrate",
    "cluster",
    "clusters",
    "collective",
    "collective_curve",
    "launcher_flags",
    "layout_map",
    "model",
    "models",
    "nodes",
    "pareto",
    "parse_bandwidth",
    "parse_bytes",
    "parse_time",
    "place_group",
    "plan",
    "predict",
    "readable",
    "run",
    "scaling",
    "search",
    "stage_memory",
    "sweep",
    "timeline",
    "to_dataframe",
    "to_matplotlib",
    "validate",
    "violation",
    "waterfall",
    "whatif",
]
