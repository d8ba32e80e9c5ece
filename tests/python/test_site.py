"""Tutorials run as they stand, and the documentation site builds without a warning."""

import re
import shlex
import subprocess
import sys

import pytest
from conftest import ROOT

TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))
#: ```kind ... ``` with, for files, a comment below that names one.
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$(?:\n\n<!-- file: (\S+) -->)?", re.M | re.S)


def blocks(page):
    return [match.groups() for match in BLOCK.finditer(page.read_text())]


def commands(text):
    lines = text.replace("\\\n", " ").splitlines()
    return [shlex.split(line[2:]) for line in lines if line.startswith("$ ")]


@pytest.mark.parametrize("page", TUTORIALS, ids=[page.stem for page in TUTORIALS])
def test_tutorial_runs(page, tmp_path, meshwright):
    """Files are written, commands and Python run in the order of the page, in one folder."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    python = ""
    for kind, text, file in blocks(page):
        if file:
            (tmp_path / file).write_text(text)
        for name, *arguments in commands(text) if kind == "console" else []:
            if name == "meshwright":
                result = meshwright(*arguments, cwd=tmp_path)
                assert result.returncode == 0, f"{arguments}: {result.stderr}"
        if kind == "python":
            python += text
    if python:
        result = subprocess.run([sys.executable, "-c", python], cwd=tmp_path, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr


def test_tutorials_have_commands():
    assert len(TUTORIALS) >= 3
    for page in TUTORIALS:
        assert any(kind in ("console", "python") for kind, _, _ in blocks(page)), page


def test_site_builds_without_warnings(tmp_path):
    result = subprocess.run([ROOT / "script/site", "--output", tmp_path], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    python, index = (tmp_path / "python.html").read_text(), (tmp_path / "index.html").read_text()
    for name in ("meshwright.Job", "meshwright.search", "meshwright.Prediction.step_time", "meshwright.sweep"):
        assert f'id="{name}"' in python
    assert "tutorials/buyer.html" in index and "notebooks" in index
    assert "StepTime" in (tmp_path / "cpp/annotated.html").read_text()
    assert "data:image/png" in (tmp_path / "notebooks/03-one-step-explained.html").read_text() or list(tmp_path.glob("_images/*.png"))
