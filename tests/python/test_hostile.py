"""Hostile use of the package: each case in a process of its own, which must end by itself, with an error or an answer."""

import subprocess
import sys

import pytest

PRELUDE = """
import math, os, pickle, signal, sys, threading, time
import meshwright as mw
job = mw.Job(model=mw.model("llama-3.1-8b"), cluster=mw.cluster("dgx-h100", nodes=2), seq_len=4096, global_batch=64)
layout = mw.Layout(tp=2, dp=8)

def refused(call, *parts):
    try:
        call()
    except mw.Error as error:
        text = str(error)
        assert "\\n" not in text and len(text) < 5000, text
        for part in parts:
            assert part in text, text
        return
    raise AssertionError("not refused")
"""


def run(code, seconds=60):
    return subprocess.run([sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, timeout=seconds)


#: Every function with arguments that it takes, a value of every class, and values of wrong types. call() lets errors of
#: both kinds pass, a line each, and notes all else.
WRONG = """
import resource
prediction, curve = mw.predict(job, layout), mw.collective_curve("all_reduce", cluster=job.cluster, sizes=[1024.0, 2048.0])
searched = {"job": job, "top": 1, "variants": False, "threads": 1, "max_micro_batch": 1, "tp_in_domain": False, "fix": "tp=2,pp=1", "exclude": None,
            "max_memory": None, "objective": "time", "pareto": None, "constraints": None, "accelerators": None, "progress": None}
found, planned = mw.search(**searched), mw.plan(**searched)
logs = {"hardware": None, "model": "", "cluster": "", "nodes": 0, "gpus": 0, "seq_len": 0}
values = [job, layout, job.cluster, job.model, job.cluster.node, job.cluster.accelerator, job.cluster.network, job.model.parameters, prediction,
          found, planned, prediction.breakdown, mw.place_group(job.cluster, 8)[0]]
ARGUMENTS = {
    "Cluster": job.cluster.to_dict(), "Layout": layout.to_dict(), "Model": job.model.to_dict(), "Scenario": {"file": "nowhere.json"},
    "Job": {"model": job.model, "cluster": job.cluster, "seq_len": 8, "global_batch": 16, "precision": "", "framework": "", "framework_version": "",
            "accelerators": 0, "moe_imbalance": None, "recipe": None, "document_len": None},
    "ResultStore": {"file": "/nowhere/x", "scenario": None},
    "accelerators": {"hardware": None}, "cluster": {"name": "dgx-h100", "nodes": 2, "accelerators": 0, "hardware": None},
    "clusters": {"hardware": None}, "models": {}, "nodes": {"hardware": None}, "model": {"name": "llama-3.1-8b"},
    "collective": {"name": "all_reduce", "cluster": job.cluster, "sizes": [8.0], "ranks": 8, "stride": 1, "algorithm": "", "protocol": ""},
    "collective_curve": {"name": "all_reduce", "cluster": job.cluster, "sizes": [8.0], "ranks": 8, "stride": 1, "algorithm": "", "protocol": ""},
    "place_group": {"cluster": job.cluster, "size": 8, "stride": 1},
    "launcher_flags": {"job": job, "layout": layout, "dialect": ""}, "predict": {"job": job, "layout": layout}, "violation": {"job": job, "layout": layout},
    "search": searched, "plan": {**searched, "why_not": None}, "run": {"job": job, "tokens": "1T", "layout": layout, "assume": None},
    "parse_bandwidth": {"text": "1 GB/s"}, "parse_bytes": {"text": "1 GB"}, "parse_time": {"text": "1 s"}, "readable": {"value": 1.0, "unit": "s"},
    "validate": {"records": ["nowhere"], **logs}, "calibrate": {"records": ["nowhere"], **logs},
    "sweep": {"job": job, "executor": None, "store": None, "chunk": 4, "progress": False, "tp": [1]},
    "whatif": {"scenario": {}, "executor": None, "store": None, "chunk": 4, "progress": False},
    "to_dataframe": {"results": found}, "to_matplotlib": {"figure": mw.timeline(prediction)},
    "waterfall": {"prediction": prediction, "against": None, "title": None}, "timeline": {"prediction": prediction, "title": None},
    "stage_memory": {"prediction": prediction, "title": None}, "busbw": {"curves": curve, "title": ""}, "scaling": {"predictions": [prediction], "title": ""},
    "layout_map": {"results": found, "x": "tp", "y": "pp", "value": "step_time_s", "title": ""},
    "pareto": {"result": found, "x": "peak_memory_bytes", "y": "step_time_s", "title": None},
}
assert set(ARGUMENTS) == {name for name in mw.__all__ if callable(getattr(mw, name))} - {
    "Accelerator", "Calibration", "CollectiveCurve", "Error", "Level", "Network", "Node", "Outcome", "ParameterCounts", "Plan", "Prediction",
    "SearchResult", "Term", "Transformer", "Validation", "WhatIf"}  # which answers are made of
VALUES = [None, "", "x", "x" * 10_000, "a\\0b", "\\udc80", 7, -1, 2**80, 0.5, math.nan, math.inf, True, b"\\xff", [], [None], [{}], [5], (), {}, {"a": 1}, {1: 2}, object()]
failed = []
os.chdir(__import__("tempfile").mkdtemp())

def call(use, where, *also):
    try:
        use()
    except (TypeError, *also):
        pass
    except mw.Error as error:
        if "\\n" in str(error) or len(str(error)) > 5000 or "Unable to cast" in str(error):
            failed.append((where, str(error)[:300]))
    except Exception as error:
        failed.append((where, type(error).__name__, str(error)[:300]))
"""

CASES = {
    "setters of a layout": """
for field in ("tp", "cp", "pp", "vp", "dp", "ep", "micro_batch"):
    for value in (0, -1, 2**31 - 1):
        refused(lambda: setattr(layout, field, value), field, str(value))
refused(lambda: setattr(layout, "zero_stage", 4), "zero_stage")
refused(lambda: setattr(layout, "etp", -1), "etp")
assert layout == mw.Layout(tp=2, dp=8)
layout.micro_batch = 2
assert mw.predict(job, layout).step_time > 0
""",
    "products of degrees": """
refused(lambda: mw.Layout(tp=4096, cp=65536, pp=65536), "accelerators")
layout.tp = 4096
refused(lambda: mw.predict(job, layout), "accelerators")
assert "accelerators" in mw.violation(job, layout)
refused(lambda: setattr(layout, "cp", 65536), "accelerators")
""",
    "layers of a model": """
for name in ("llama-3.1-8b", "mixtral-8x7b", "jamba-v0.1", "nemotron-h-8b"):
    try:
        model = mw.model(name)
    except mw.Error:
        continue
    for layers in (0, -1, 2**31 - 1):
        refused(lambda: setattr(model, "layers", layers), "layers")
    layers = model.layers
    try:
        model.layers = layers + 1
    except mw.Error:
        assert model.layers == layers
    mw.Job(model=model, cluster=job.cluster, seq_len=4096, global_batch=64)
""",
    "numbers that are none": """
nan, inf = math.nan, math.inf
for value in (nan, inf, -inf, -1.0, 0.0, "nan GB/s", "-1 GB/s"):
    refused(lambda: job.cluster.with_nic(value))
for size in (nan, inf, -1.0, 0.0):
    refused(lambda: mw.collective("all_reduce", cluster=job.cluster, sizes=[size]), "sizes")
for ranks in (-1, 1, 17, 2**31 - 1):
    refused(lambda: mw.collective("all_reduce", cluster=job.cluster, sizes=[8.0], ranks=ranks), "ranks")
refused(lambda: mw.collective("all_reduce", cluster=job.cluster, sizes=[8.0], ranks=8, stride=3), "stride")
for size, stride in ((0, 1), (-5, 1), (17, 1), (8, 0), (8, -1), (8, 3)):
    refused(lambda: mw.place_group(job.cluster, size, stride))
for limit in (nan, -1.0, 0, "0 GB", "0%", "101%", "90"):
    refused(lambda: mw.search(job, max_memory=limit), "max_memory")
for imbalance in (nan, inf, 0.0, -1.0):
    refused(lambda: mw.Job(model=mw.model("mixtral-8x7b"), cluster=job.cluster, seq_len=8, global_batch=8, moe_imbalance=imbalance))
for seq_len in (0, -1, 2**31 - 1):
    refused(lambda: job.model.flops_per_token(seq_len), "seq_len")
""",
    "arguments of a search": """
for top in (0, -1, 2**31 - 1):
    refused(lambda: mw.search(job, top=top), "top")
for threads in (-1, 2**31 - 1):
    refused(lambda: mw.search(job, threads=threads), "threads")
for batch in (0, -1, 2**31 - 1):
    refused(lambda: mw.search(job, max_micro_batch=batch), "max_micro_batch")
refused(lambda: mw.search(job, fix={"tp": 2**31 - 1}), "tp")
refused(lambda: mw.search(job, fix={"tp": 2.5}), "tp")
refused(lambda: mw.search(job, accelerators=[0]), "accelerators")
refused(lambda: mw.Job(model=job.model, cluster=job.cluster, seq_len=8, global_batch=8, accelerators=-1), "accelerators")
refused(lambda: mw.cluster("dgx-h100", nodes=2**31 - 1), "accelerators")
refused(lambda: mw.cluster("dgx-h100", nodes=-1))
""",
    "text that is none": """
refused(lambda: mw.model("\\x1b[31m"), "x1b")
refused(lambda: mw.model("a\\nb"))
refused(lambda: mw.model("x" * 10_000_000))
refused(lambda: mw.parse_bytes("\\udc80".encode("utf-8", "surrogateescape").decode("latin-1")))
""",
    "a network is another cluster": """
try:
    job.cluster.network.tiers = -5
except AttributeError:
    pass
else:
    raise AssertionError("a field of a network was set past every check")
other = job.cluster.with_network(topology="fat-tree", oversubscription=[2])
assert other.network.oversubscription == [2] and other.network.topology == "fat-tree"
refused(lambda: job.cluster.with_network(tiers=-5), "tiers")
refused(lambda: job.cluster.with_network(oversubscription=[math.nan]))
refused(lambda: job.cluster.with_network(topologie="x"), "topology")
""",
    "pickles": """
for value in (layout, mw.Layout(tp=2, pp=4, stages=[8, 8, 8, 8]), job, job.cluster, job.model):
    again = pickle.loads(pickle.dumps(value))
    assert type(again) is type(value)
assert pickle.loads(pickle.dumps(layout)) == layout
again = pickle.loads(pickle.dumps(job))
assert mw.predict(again, layout).step_time == mw.predict(job, layout).step_time
for value in (mw.predict(job, layout), mw.search(job)):
    assert pickle.loads(pickle.dumps(value)) == value
""",
    "threads": """
answers, model = [], mw.model("llama-3.1-8b")
def work():
    for _ in range(3):
        answers.append(mw.search(job, threads=2).step_times[0])
def change():
    for layers in list(range(1, 32)) * 20:
        model.layers = layers
        mw.Job(model=model, cluster=job.cluster, seq_len=4096, global_batch=64)
threads = [threading.Thread(target=work) for _ in range(3)] + [threading.Thread(target=change)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(set(answers)) == 1
""",
    "exceptions of callbacks": """
def wrong(*_):
    raise KeyError("mine")
for arguments in ({"objective": wrong}, {"constraints": {"c": wrong}}):
    try:
        mw.search(job, **arguments)
    except KeyError as error:
        assert error.args == ("mine",)
    else:
        raise AssertionError("swallowed")
try:
    mw.search(job, objective=7)
except TypeError as error:
    assert str(error) == "objective: found int, expected a name or a function of an Outcome"
else:
    raise AssertionError("not refused")
""",
    "interrupts": """
big = mw.Job(model=mw.model("deepseek-v3"), cluster=mw.cluster("dgx-h100", nodes=2048), seq_len=4096, global_batch=15360)
for threads in (1, 2):
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    result = mw.search(big, variants=True, top=1000, threads=threads, accelerators=[256 * n for n in range(1, 65)])
    assert result.interrupted and "interrupted" in repr(result)
    assert time.monotonic() - start < 10
    assert all(a <= b * (1 + 1e-9) for a, b in zip(result.step_times, result.step_times[1:]))
""",
    "interrupted functions": """
def slow(outcome):
    time.sleep(0.01)
    return outcome.step_time
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    result = mw.search(job, objective=slow, variants=True, top=10_000)
    assert result.interrupted
except KeyboardInterrupt:  # while the function itself ran
    pass
assert time.monotonic() - start < 10
assert mw.search(job).step_times, "and the next one runs"
""",
    "interrupted sweeps": """
import tempfile
store = os.path.join(tempfile.mkdtemp(), "sweep.db")
grid = {"tp": [1, 2, 4, 8], "micro_batch": [1, 2, 4], "zero_stage": [0, 1, 2, 3]}
told = []
def interrupt(done, total):
    told.append(done)
    os.kill(os.getpid(), signal.SIGINT)
try:
    mw.sweep(job, store=store, chunk=4, progress=interrupt, **grid)
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("swallowed")
again = []
frame = mw.sweep(job, store=store, chunk=4, progress=lambda done, total: again.append(done), **grid)
assert told == [4] and again[0] == 8 and again[-1] == 48, (told, again)
assert frame.equals(mw.sweep(job, **grid)) or len(frame) == 48
""",
    "wrong types": WRONG + """
for name, arguments in ARGUMENTS.items():
    call(getattr(mw, name), name)
    call(lambda: getattr(mw, name)(**arguments, unknown=1), name + " with an unknown argument")
    for argument in arguments:
        for wrong in VALUES:
            if (name, argument, wrong) not in [("validate", "records", empty) for empty in ([], {}, "")]:  # the published ones
                call(lambda: getattr(mw, name)(**{**arguments, argument: wrong}), f"{name}({argument}={wrong!r:.60})")
assert not failed, failed
""",
    "wrong types of members": WRONG + """
SKIPPED = {"__class__", "__init_subclass__", "__subclasshook__", "__new__", "__getattribute__", "__setattr__", "__delattr__", "__dir__",
           "__sizeof__", "__format__", "_pybind11_conduit_v1_"}
for value in values:
    kind = type(value)
    for name in sorted(set(dir(kind)) - SKIPPED):
        where = f"{kind.__name__}.{name}"
        if not callable(getattr(kind, name)):
            for wrong in VALUES:
                call(lambda: setattr(value, name, wrong), f"{where} = {wrong!r:.60}", AttributeError)
            continue
        call(getattr(value, name), where)
        for wrong in VALUES:
            call(lambda: getattr(value, name)(wrong), f"{where}({wrong!r:.60})", *([IndexError] if name == "__getitem__" else []))
            for key in ["layers", "nodes", "seq_len", "tp", "network"] if name in ("replace", "with_network") else []:
                call(lambda: getattr(value, name)(**{key: wrong}), f"{where}({key}={wrong!r:.60})")
assert not failed, failed
""",
    "damaged pickles": WRONG + """
for value in values:
    kind, good = type(value), value.__getstate__()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(value, protocol)) == value
    states = [*VALUES, (None,), ("",) * 5, ("{}",) * 5, ("{}", ()), ("{}", (1,)), ("{}", ("/nowhere",)), good[:-1], (*good, 1)]
    states += [good[:at] + (wrong,) + good[at + 1 :] for at in range(len(good)) for wrong in [*VALUES, ("",), ("{}",), "{}", "[]"]]
    for state in states:
        def restored():
            again = kind.__new__(kind)
            again.__setstate__(state)
            repr(again), again._repr_html_(), again == value
        call(restored, f"{kind.__name__} of {state!r:.80}")
assert not failed, failed
refused(lambda: mw.Layout.__new__(mw.Layout).__setstate__(()), "state of a Layout", "IndexError", "expected")
""",
    "damaged documents": WRONG + """
for kind, fields in ((mw.Validation, 1), (mw.Calibration, 3), (mw.WhatIf, 3), (mw.CollectiveCurve, 2)):
    for text in ("", "x", "{}", "[]", "null", "NaN", '{"runs": 5, "results": 5}', "[" * 100_000, "{" * 100_000):
        value = kind(*[text] * fields)
        for name in dir(value):
            if not name.startswith("__") and name not in ("_member", "write"):
                call(lambda: getattr(value, name)() if callable(getattr(type(value), name, None)) else getattr(value, name), f"{kind.__name__}.{name}")
assert not failed, failed
""",
    "objects that nothing initialised": WRONG + """
import copy
for kind in (getattr(mw, name) for name in mw.__all__):
    if not isinstance(kind, type) or issubclass(kind, Exception):
        continue
    empty = kind.__new__(kind)
    for name in dir(kind):
        for use in (lambda: getattr(empty, name), lambda: getattr(empty, name)(), lambda: setattr(empty, name, 1)):
            call(use, f"{kind.__name__}.{name}", AttributeError)
    for use in (repr, str, hash, len, list, pickle.dumps, copy.copy, copy.deepcopy, lambda x: x == x, lambda x: x[0], mw.to_dataframe):
        call(lambda: use(empty), f"{use} of a {kind.__name__}", AttributeError)
assert not failed, failed
for use in (lambda: repr(mw.Job.__new__(mw.Job)), lambda: mw.predict(mw.Job.__new__(mw.Job), layout), lambda: mw.Layout.__new__(mw.Layout).tp):
    try:
        use()
    except TypeError as error:
        assert "__init__" in str(error)
    else:
        raise AssertionError("not refused")
""",
    "stores of something else": """
import sqlite3, tempfile
store = os.path.join(tempfile.mkdtemp(), "mine.db")
with sqlite3.connect(store) as theirs:
    theirs.execute("CREATE TABLE rows (mine TEXT)")
before = open(store, "rb").read()
refused(lambda: mw.sweep(job, store=store, tp=[1]), "mine.db", "store of a sweep")
assert open(store, "rb").read() == before
refused(lambda: mw.sweep(job, store="/", tp=[1]), "store of a sweep")
other = os.path.join(os.path.dirname(store), "sweep.db")
mw.sweep(job, store=other, tp=[1, 2])
with sqlite3.connect(other) as damaged:
    damaged.execute("UPDATE rows SET row = 'no JSON'")
refused(lambda: mw.sweep(job, store=other, tp=[1, 2]), "sweep.db", "no JSON")
refused(lambda: mw.sweep(job, tp=list(range(1, 2000)), pp=list(range(1, 2000))), "points")
""",
    "locales": """
import locale
for name in ("de_DE.UTF-8", "fr_FR.UTF-8"):
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        continue
assert mw.parse_bandwidth("2.5 GB/s") == 2.5e9
assert mw.predict(job, layout).to_dict()["step_time_s"] == mw.predict(job, layout).step_time
""",
}


@pytest.mark.parametrize("name", CASES)
def test_ends_by_itself(name):
    result = run(CASES[name])
    assert result.returncode == 0, result.stderr
