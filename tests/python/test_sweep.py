"""Grids of layouts on executors, kept in a file."""

import concurrent.futures
import math
import signal
import sqlite3
import subprocess
import sys
import time

import pandas as pd
import pytest

import meshwright as mw

GRID = {"tp": [1, 2, 3, 8], "pp": [1, 2], "micro_batch": [1, 2, 4]}


@pytest.fixture(scope="module")
def job():
    return mw.Job(model=mw.model("llama-3.1-8b"), cluster=mw.cluster("dgx-h100", nodes=8), seq_len=8192, global_batch=128)


def test_the_executor_does_not_matter(job):
    alone = mw.sweep(job, **GRID)
    assert len(alone) == 24 and alone["violation"].notna().sum() >= 6
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        pd.testing.assert_frame_equal(alone, mw.sweep(job, executor=pool, chunk=5, **GRID))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        pd.testing.assert_frame_equal(alone, mw.sweep(job, executor=pool, chunk=1, **GRID))


def test_jobs_are_an_axis(job):
    both = mw.sweep([job, job.replace(global_batch=256)], tp=[2, 4], progress=True)
    assert list(both["job"]) == [0, 0, 1, 1]
    assert both["step_time_s"][2] > both["step_time_s"][0]


def test_a_store_goes_on_where_it_was(job, tmp_path):
    store, told = tmp_path / "sweep.db", []
    whole = mw.sweep(job, store=store, **GRID)
    with sqlite3.connect(store) as file:
        file.execute("DELETE FROM rows WHERE point >= 7")
    again = mw.sweep(job, store=store, progress=lambda done, total: told.append((done, total)), chunk=100, **GRID)
    assert told == [(24, 24)], "seven were there"
    pd.testing.assert_frame_equal(whole, again, check_dtype=False)
    with pytest.raises(mw.Error, match="another sweep"):
        mw.sweep(job, store=store, tp=[1])
    (tmp_path / "text.db").write_text("not a database, however long this text may be" * 30)
    with pytest.raises(mw.Error, match="text.db"):
        mw.sweep(job, store=tmp_path / "text.db", tp=[1])


SMALL = {"tp": [1, 2, 4, 8], "pp": [1, 2, 4], "micro_batch": list(range(1, 101))}
LARGE = {"tp": [1, 2, 4, 8], "pp": [1, 2, 4, 8, 16], "micro_batch": list(range(1, 126)), "zero_stage": [0, 1, 2, 3]}


@pytest.mark.parametrize(
    "grid, kills", [(SMALL, 5), pytest.param(LARGE, 20, marks=pytest.mark.slow)], ids=["1200", "10000"]
)
def test_a_killed_sweep_loses_and_doubles_nothing(job, tmp_path, grid, kills):
    store, count = tmp_path / "killed.db", math.prod(len(values) for values in grid.values())
    code = f"""
import meshwright as mw
job = mw.Job(model=mw.model("llama-3.1-8b"), cluster=mw.cluster("dgx-h100", nodes=8), seq_len=8192, global_batch=128)
mw.sweep(job, store={str(store)!r}, chunk=4, **{grid!r})
"""
    kept = [0]
    for _ in range(kills):
        process = subprocess.Popen([sys.executable, "-c", code])
        time.sleep(1.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept.append(rows_of(store) if store.exists() else 0)
    assert kept == sorted(kept), "a later run never has less"
    resumed = mw.sweep(job, store=store, **grid)
    assert rows_of(store) == count == len(resumed)
    pd.testing.assert_frame_equal(resumed, mw.sweep(job, **grid), check_dtype=False)


def rows_of(store):
    with sqlite3.connect(store) as file:
        try:
            rows, points = file.execute("SELECT COUNT(*), COUNT(DISTINCT point) FROM rows").fetchone()
        except sqlite3.OperationalError:  # killed before the tables were made
            return 0
    assert rows == points
    return rows


def test_on_dask(job):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            there = mw.sweep(job, executor=client.get_executor(), chunk=6, **GRID)
    pd.testing.assert_frame_equal(there, mw.sweep(job, **GRID))
