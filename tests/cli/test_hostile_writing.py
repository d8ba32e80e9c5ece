"""Writing: what others planted, devices and links, processes that are killed, several writers at once."""

import contextlib
import json
import os
import sqlite3
import stat
import subprocess
import time

import pytest

from conftest import program
from cli.hostile import JOB, PLAN, refused, Run, write


def predict_to(path, tmp_path, **more):
    return Run("predict", write(tmp_path / "job.json", JOB), "--trace", path, **more)


def test_devices_are_written_through(tmp_path):
    before = os.stat("/dev/null")
    assert predict_to("/dev/null", tmp_path).returncode == 0
    after = os.lstat("/dev/null")
    assert stat.S_ISCHR(after.st_mode) and after.st_rdev == before.st_rdev


def test_a_full_device_is_an_error(tmp_path):
    refused(predict_to("/dev/full", tmp_path), "/dev/full", "No space left")


def test_planted_siblings_are_left_alone(tmp_path):
    out, victim, own = tmp_path / "out.json", tmp_path / "victim", tmp_path / "out.json.part"
    victim.write_text("mine")
    own.symlink_to(victim)
    assert predict_to(out, tmp_path).returncode == 0
    assert victim.read_text() == "mine" and own.is_symlink()
    assert json.loads(out.read_text())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["job.json", "out.json", "out.json.part", "victim"]


def test_a_link_stays_a_link(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("{}")
    link.symlink_to(real)
    assert predict_to(link, tmp_path).returncode == 0
    assert link.is_symlink() and json.loads(real.read_text())


def test_permissions_stay(tmp_path):
    out = write(tmp_path / "out.json", "{}")
    out.chmod(0o640)
    assert predict_to(out, tmp_path).returncode == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


@pytest.mark.parametrize(("path", "part"), [("", "--trace"), (".", "folder"), ("no/such/x.json", "cannot be written")])
def test_places_that_cannot_be_written(path, part, tmp_path):
    refused(Run("predict", write(tmp_path / "job.json", JOB), f"--trace={path}", cwd=tmp_path), part)


@pytest.mark.parametrize(
    "command",
    [
        [*PLAN, "--html"],
        [*PLAN, "--launch"],
        ["predict", "job.json", "--trace"],
        ["predict", "job.json", "--html"],
        ["predict", "job.json", "--launch"],
        ["whatif", "job.json", "--csv"],
        ["whatif", "job.json", "--html"],
        ["whatif", "job.json", "--store"],
        ["import", "launch", "job.json", "--output"],
        ["cluster", "new", "--node", "dgx-h100", "--nodes", 2, "--output"],
        ["calibrate", "gemm", "job.json", "--output"],
        ["calibrate", "runs", "job.json", "--output"],
        ["calibrate", "spread", "--output"],
        ["calibrate", "nccl-tests", "job.json", "--output"],
    ],
    ids=lambda command: " ".join(map(str, [*command[:2], command[-1]])),
)
def test_outputs_are_refused_before_the_work(command, tmp_path):
    write(tmp_path / "job.json", JOB)
    for place in ("/dev/null/x.json", "/dev/null/x/y", ""):
        refused(Run(*command[:-1], f"{command[-1]}={place}", cwd=tmp_path), command[-1], place)


def test_concurrent_writers(tmp_path):
    job, out = write(tmp_path / "job.json", JOB), tmp_path / "out.json"
    runs = [subprocess.Popen([program(), "predict", job, "--trace", out], stdout=subprocess.DEVNULL) for _ in range(12)]
    assert [run.wait(timeout=60) for run in runs] == [0] * 12
    assert json.loads(out.read_text())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["job.json", "out.json"]


# Killed a few times in every run, a hundred times where slow tests run.
KILLS = [5, pytest.param(100, marks=pytest.mark.slow)]


@pytest.mark.parametrize("kills", KILLS)
def test_killed_writers_leave_whole_files(kills, tmp_path):
    job, out = write(tmp_path / "job.json", JOB), tmp_path / "out.json"
    first = predict_to(out, tmp_path)
    assert first.returncode == 0
    whole = out.read_text()
    for i in range(kills):
        out.write_text(whole[::-1])  # as long, so that a mixture would show
        run = subprocess.Popen([program(), "predict", job, "--trace", out], stdout=subprocess.DEVNULL)
        time.sleep(first.seconds * (i + 1) / kills)
        run.kill()
        run.wait()
        assert out.read_text() in (whole, whole[::-1])
    for left in tmp_path.iterdir():
        assert left in (job, out) or left.name.startswith(".meshwright-"), left


@pytest.mark.parametrize("kills", KILLS)
def test_killed_sweeps_lose_and_double_nothing(kills, tmp_path):
    scenario = {
        "name": "s",
        "workloads": [{"name": "w", "model": "llama-3.1-8b", "seq_len": 4096, "global_batch": 256, "tokens": "100B", "fix": "tp=2,pp=1,cp=1"}],
        "candidates": [{"name": "c", "cluster": "dgx-h100", "vary": {"nodes": list(range(2, 2 + max(3, kills)))}}],
    }
    path, store = write(tmp_path / "sweep.json", scenario), tmp_path / "s.db"
    whole = Run("whatif", path, "--json", seconds=600)
    assert whole.returncode == 0, whole.stderr
    kept = {}
    for i in range(kills):
        run = subprocess.Popen([program(), "whatif", path, "--store", store, "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole.seconds / 20 * (1 + i % 5))
        run.kill()
        run.wait()
        if not store.exists():
            continue
        with contextlib.closing(sqlite3.connect(store)) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            tables = file.execute("SELECT name FROM sqlite_master WHERE name = 'results'").fetchall()
            lines = dict(file.execute("SELECT point, line FROM results")) if tables else {}
        assert kept.items() <= lines.items()  # what was there is there as it was
        for line in lines.values():
            json.loads(line)
        kept = lines
    again = Run("whatif", path, "--store", store, "--json", seconds=600)
    assert json.loads(again.stdout)["results"] == json.loads(whole.stdout)["results"]


FOREIGN = {
    "tables": ["CREATE TABLE bookmarks (url TEXT)", "INSERT INTO bookmarks VALUES ('mine')"],
    "a view": ["CREATE VIEW results AS WITH RECURSIVE r(point, line) AS (SELECT 1, 'x' UNION ALL SELECT point + 1, 'x' FROM r) SELECT * FROM r"],
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_store_is_no_database_of_something_else(kind, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "own.db")) as database:
        for statement in FOREIGN[kind]:
            database.execute(statement)
        database.commit()
    before = (tmp_path / "own.db").read_bytes()
    scenario = {
        "workloads": [{"name": "w", "model": "llama-3.1-8b", "seq_len": 4096, "global_batch": 256, "tokens": "100B", "fix": "tp=2,pp=1,cp=1"}],
        "candidates": [{"name": "c", "cluster": "dgx-h100", "nodes": 2}],
    }
    refused(Run("whatif", write(tmp_path / "s.json", scenario), "--store", tmp_path / "own.db"), "own.db", "something else")
    assert (tmp_path / "own.db").read_bytes() == before
