"""What the Python tests share: the program, and a way to run it."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="write the goldens anew")
    parser.addoption("--slow", action="store_true", help="also what takes minutes")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="takes minutes: --slow"))


def program() -> str:
    """The program under test: MESHWRIGHT_PROGRAM, or the one that the package put beside this interpreter."""
    return os.environ.get("MESHWRIGHT_PROGRAM") or str(pathlib.Path(sys.executable).parent / "meshwright")


def refused(result, *parts):
    """Bad input: exit 2, nothing on stdout, one line on stderr that has every part."""
    assert result.returncode == 2, result.stdout + result.stderr
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    for part in parts:
        assert part in lines[0], lines[0]


@pytest.fixture
def meshwright():
    """Runs the program; gives the completed process with stdout and stderr as text."""

    def run(*args, cwd=None, timeout=120, environ=None, text=None):
        dropped = ("MESHWRIGHT_HARDWARE", "COLUMNS", "NO_COLOR")
        environment = {k: v for k, v in os.environ.items() if k not in dropped} | {"LC_ALL": "C.UTF-8"} | (environ or {})
        return subprocess.run(
            [program(), *map(str, args)], capture_output=True, text=True, cwd=cwd or ROOT, env=environment, timeout=timeout,
            input=text,
        )

    return run
