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
refused(lambda: mw.search(job, objective=7), "objective")
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
