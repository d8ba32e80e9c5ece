"""Performance modelling and capacity planning for distributed training of large models.

>>> import meshwright as mw
>>> job = mw.Job(model=mw.model("llama-3.1-405b"), cluster=mw.cluster("dgx-h100", nodes=2048),
...              seq_len=8192, global_batch=2048)
>>> result = mw.search(job, top=5)
>>> mw.to_dataframe(result)

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
    Network,
    Node,
    ParameterCounts,
    Plan,
    Prediction,
    ResultStore,
    Scenario,
    SearchResult,
    Term,
    Transformer,
    __version__,
    accelerators,
    cluster,
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
    run,
    search,
    violation,
)
from .frames import to_dataframe
from .plot import busbw, waterfall
from .sweep import sweep
from .whatif import WhatIf, whatif

__all__ = [
    "Accelerator",
    "Cluster",
    "Error",
    "Job",
    "Layout",
    "Level",
    "Network",
    "Node",
    "ParameterCounts",
    "Plan",
    "Prediction",
    "ResultStore",
    "Scenario",
    "SearchResult",
    "Term",
    "Transformer",
    "WhatIf",
    "__version__",
    "accelerators",
    "busbw",
    "cluster",
    "collective",
    "launcher_flags",
    "model",
    "models",
    "nodes",
    "parse_bandwidth",
    "parse_bytes",
    "parse_time",
    "place_group",
    "plan",
    "predict",
    "run",
    "search",
    "sweep",
    "to_dataframe",
    "violation",
    "waterfall",
    "whatif",
]
