"""What people install: a wheel in a bare virtual environment, and `pip install .` as the README says."""

import os
import re
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT

#: Flags of the development build, so that the compiler cache serves the library again.
QUICK = ["--config-settings=cmake.build-type=None", "--config-settings=cmake.define.CMAKE_CXX_FLAGS=-O1 -g1",
         "--config-settings=cmake.define.MESHWRIGHT_WERROR=ON"]


@pytest.fixture
def bare(tmp_path):
    """A new virtual environment: its folder."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "bare"], check=True)
    return tmp_path / "bare"


def readme_snippet():
    return re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)[1]


def tried(bare, folder):
    """The README's snippet and program, away from the repository and its environment."""
    environment = {"PATH": f"{bare}/bin:/usr/bin:/bin", "HOME": str(folder)}
    for command in ([bare / "bin/python", "-c", readme_snippet()], [bare / "bin/meshwright", "model", "list"]):
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_wheel_needs_nothing_of_the_system(tmp_path, bare):
    subprocess.run([ROOT / "script/wheel", "--output", tmp_path / "dist", *QUICK], check=True, env={**os.environ})
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert "manylinux" in wheel.name
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
    assert any("libfmt" in name for name in names), "comes along"
    subprocess.run([bare / "bin/pip", "install", "--quiet", wheel], check=True)
    tried(bare, tmp_path)
    (site,) = bare.glob("lib/python*/site-packages")
    used = subprocess.run(["ldd", next(site.glob("meshwright/_meshwright*.so"))], capture_output=True, text=True, check=True).stdout
    outside = {line.split()[0] for line in used.splitlines() if "=>" in line and str(bare) not in line}
    allowed = ("libc.", "libm.", "libstdc++.", "libgcc_s.", "libpthread.", "libdl.", "librt.", "libz.")
    assert all(name.startswith(allowed) for name in outside), outside


@pytest.mark.slow
def test_readme_runs_after_pip_install(tmp_path, bare):
    subprocess.run([bare / "bin/pip", "install", "--quiet", *QUICK, ROOT], check=True)
    tried(bare, tmp_path)
