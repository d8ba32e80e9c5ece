"""Generated documents don't drift, README commands run, notebooks execute."""

import pathlib
import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_stubs_are_those_of_the_module(tmp_path):
    subprocess.run([ROOT / "script/docs", "--output", tmp_path, "stubs"], check=True, capture_output=True)
    fresh = (tmp_path / "_meshwright.pyi").read_text()
    assert fresh == (ROOT / "python/meshwright/_meshwright.pyi").read_text(), "run script/docs"


def test_types_are_strict():
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", ROOT / "python/meshwright"],
        capture_output=True, text=True,
    )
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("document", ["cli.md", "algorithms.md", "accuracy.md"])
def test_generated_documents_are_fresh(document, tmp_path, meshwright):
    subprocess.run([ROOT / "script/docs", "--output", tmp_path, document], check=True, capture_output=True)
    assert (tmp_path / document).read_text() == (ROOT / "docs" / document).read_text(), "run script/docs"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_notebook_runs(path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_notebook_has_its_outputs_and_stays_small(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    outputs = [output for cell in cells for output in cell.outputs]
    assert sum(bool(cell.outputs) for cell in cells) >= 0.7 * len(cells), "run script/notebooks"
    assert not any(output.output_type in ("error", "stream") for output in outputs)
    assert path.stat().st_size < 200_000


def test_notebooks_are_seven():
    assert [path.stem[:2] for path in NOTEBOOKS] == [f"0{number}" for number in range(1, 8)]


def readme_commands():
    """Lines of the README's console blocks that call the program."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    joined = "\n".join(blocks).replace("\\\n", " ")
    return [line[2:] for line in joined.splitlines() if line.startswith("$ meshwright ")]


@pytest.mark.parametrize("command", readme_commands())
def test_readme_command_runs(command, meshwright):
    result = meshwright(*command.split()[1:])
    assert result.returncode == 0, result.stderr


def test_readme_python_runs(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "sweep.db").stat().st_size > 0


def test_readme_has_commands():
    assert len(readme_commands()) >= 3
    assert shutil.which("bash")
