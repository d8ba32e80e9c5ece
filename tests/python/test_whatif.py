"""Runs and scenarios from Python: the same answers as the program, on threads, processes and Dask."""

import json
import os
import pickle
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

import meshwright as mw
from meshwright import executors

WORKLOAD = {
    "name": "8B",
    "model": "llama-3.1-8b",
    "seq_len": 4096,
    "global_batch": 512,
    "tokens": "100B",
    "fix": ["tp=1", "pp=1", "cp=1", "recompute=none"],
}
SCENARIO = {
    "name": "sweep",
    "uncertainty": {"draws": 8},
    "workloads": [WORKLOAD],
    "candidates": [
        {"name": "H100", "cluster": "dgx-h100", "vary": {"nodes": [1, 2, 4], "oversubscription": [1, 2, 4]}},
        {"name": "H200", "cluster": "dgx-h200", "nodes": 2},
    ],
    "questions": [{"name": "size", "ask": "size", "candidate": "H200", "deadline": "9 days", "most_nodes": 8}],
}


@pytest.fixture(scope="module")
def answer():
    return mw.whatif(SCENARIO)


def test_a_run_agrees_with_its_prediction():
    job = mw.Job(model=mw.model("llama-3.1-8b"), cluster=mw.cluster("dgx-h100", nodes=8), seq_len=4096, global_batch=512)
    layout = mw.Layout(tp=1, dp=64, zero_stage=1)
    run = mw.run(job, "100B", layout)
    assert run["steps"] == 47684  # 1e11 / (512 * 4096), rounded up
    least = run["steps"] * mw.predict(job, layout).step_time / 86400
    assert least < run["days"] < 1.1 * least
    assert run["gpu_hours"] == pytest.approx(run["days"] * 24 * 64)
    assert sum(part["value"] for part in run["time"]["parts"]) == pytest.approx(run["days"] * 86400)
    assert any("prices.energy" in line for line in run["assumptions"])


def test_a_run_takes_what_is_assumed():
    job = mw.Job(model=mw.model("llama-3.1-8b"), cluster=mw.cluster("dgx-h100", nodes=1), seq_len=4096, global_batch=64)
    layout = mw.Layout(tp=2, dp=4, zero_stage=1)
    rented = mw.run(job, 1e10, layout, assume={"prices": {"gpu_hour": "2 USD/h"}})
    assert rented["rented"] and rented["cost_usd"] == pytest.approx(2 * rented["gpu_hours"])
    with pytest.raises(mw.Error, match="/prices/gpu_hour"):
        mw.run(job, 1e10, layout, assume={"prices": {"gpu_hour": 2}})
    with pytest.raises(mw.Error, match="tokens"):
        mw.run(job, "15Q", layout)


def test_a_run_has_phases_a_ramp_and_evaluation():
    job = mw.Job(model=mw.model("llama-3.1-8b"), cluster=mw.cluster("dgx-h100", nodes=8), seq_len=4096, global_batch=512)
    layout = mw.Layout(tp=2, dp=32, zero_stage=1)
    plain = mw.run(job, "100B", layout)
    phases = [{"name": "short", "share": 0.9, "seq_len": 4096, "global_batch": 512},
              {"name": "long", "share": 0.1, "seq_len": 8192, "global_batch": 256}]
    run = mw.run(job, "100B", layout, assume={"phases": phases, "warm_up": "1 h"})
    assert run["tokens"] == pytest.approx(1e11, rel=1e-3) and run["days"] == pytest.approx(plain["days"] + 1 / 24, rel=0.05)
    ramp = mw.run(job, "100B", layout, assume={"ramp": {"start": 128, "increment": 128, "samples": 3e6}})
    assert ramp["steps"] > plain["steps"]
    evaluated = mw.run(job, "100B", layout, assume={"evaluation": {"every": 1000, "takes": "60 s"}})
    parts = {part["name"]: part["value"] for part in evaluated["time"]["parts"]}
    assert parts["evaluation"] == pytest.approx(60 * (plain["steps"] // 1000), rel=0.01)
    with pytest.raises(mw.Error, match="/phases/0/share"):
        mw.run(job, "100B", layout, assume={"phases": [{**phases[0], "share": 2}]})
    with pytest.raises(mw.Error, match="failures: one in"):
        mw.run(job, "100B", layout, assume={"checkpoint": {"interval": "1e9 h"}})


def test_the_answer_is_that_of_the_program(answer, tmp_path, meshwright):
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(SCENARIO))
    shown = json.loads(meshwright("whatif", path, "--json").stdout)
    assert answer.answer == shown
    assert mw.whatif(path).answer == shown
    assert answer.to_frame().shape[0] == 10
    assert answer.csv.count("\r\n") == 11
    assert answer.html.startswith("<!doctype html>")


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_the_answer_does_not_depend_on_the_executor(answer, workers):
    pool = ThreadPoolExecutor(3) if workers == "threads" else ProcessPoolExecutor(2, mp_context=get_context("spawn"))
    with pool:
        assert mw.whatif(SCENARIO, executor=pool, chunk=2).answer == answer.answer


def test_dask_gives_the_same(answer):
    distributed = pytest.importorskip("dask.distributed", reason="dask is not installed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            assert mw.whatif(SCENARIO, executor=client.get_executor(), chunk=2).answer == answer.answer


def test_a_dask_worker_that_dies_loses_nothing(answer, tmp_path):
    distributed = pytest.importorskip("dask.distributed", reason="dask is not installed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            workers = [worker["pid"] for worker in client.run(lambda: {"pid": os.getpid()}).values()]

            def kill_one(done, total):
                if workers:
                    os.kill(workers.pop(), signal.SIGKILL)
                    workers.clear()

            store = tmp_path / "results.sqlite"
            got = mw.whatif(SCENARIO, executor=client.get_executor(), chunk=1, store=store, progress=kill_one)
            assert got.answer == answer.answer


def test_every_worker_of_an_executor_has_work():
    count = 3 * os.cpu_count() + 16
    together = threading.Barrier(count, timeout=60)
    with ThreadPoolExecutor(count) as pool:
        parts = executors.computed(lambda part: together.wait() >= 0, range(2 * count), executor=pool)
        assert sum(parts) == 2 * count


def test_a_store_is_taken_up_again(answer, tmp_path):
    store, seen = tmp_path / "results.sqlite", []

    class Stop(Exception):
        pass

    def stop_at_half(done, total):
        seen.append((done, total))
        if done >= total / 2:
            raise Stop

    with pytest.raises(Stop):
        mw.whatif(SCENARIO, store=store, chunk=1, executor=None, progress=stop_at_half)
    kept = len(mw.ResultStore(store, mw.Scenario.from_dict(SCENARIO)))
    assert 0 < kept < 10
    calls = []
    assert mw.whatif(SCENARIO, store=store, chunk=1, progress=lambda done, total: calls.append(total)).answer == answer.answer
    assert calls == [10 - kept] * (10 - kept), "only what was missing is computed"


def test_scenarios_travel(answer):
    scenario = pickle.loads(pickle.dumps(mw.Scenario.from_dict(SCENARIO)))
    assert scenario.points == 10 and scenario.name == "sweep"
    lines = scenario.evaluate(list(range(9, -1, -1)))
    assert scenario.conclude(lines)["answer"] == answer.answer
    with pytest.raises(mw.Error, match="no such point"):
        scenario.evaluate([10])


def test_faults_have_their_place():
    with pytest.raises(mw.Error, match="/candidates/0/cluster"):
        mw.whatif({**SCENARIO, "candidates": [{"name": "x", "cluster": "dgx-h1000"}], "questions": None})
