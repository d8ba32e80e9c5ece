"""What the program does for a terminal: width, characters, colour, completion, the manual; options anywhere."""

import json
import re
import shutil
import subprocess

import pytest
from conftest import program, refused

PLAN = ["plan", "--model", "llama-3.1-70b", "--cluster", "dgx-h100", "--nodes", 8, "--global-batch", 256, "--seq-len", 8192]
WIDE = [PLAN, ["predict", "examples/llama-3.1-405b.json"], ["model", "show", "llama-3.1-8b"], ["model", "list"],
        ["collective", "all_reduce", "--cluster", "dgx-h100", "--nodes", 2], ["topo", "show", "dgx-h100", "--nodes", 64],
        ["hardware", "list"], ["hardware", "show", "H100-SXM5-80GB"], ["algorithms"], ["cluster", "check", "dgx-h100"],
        [*PLAN, "--pareto", "time,memory", "--why-not", "tp=8,pp=4", "--flags", "megatron"]]


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("command", WIDE, ids=lambda c: " ".join(map(str, c))[:40])
def test_lines_fit(meshwright, command, columns):
    result = meshwright(*command, environ={"COLUMNS": str(columns)})
    assert result.returncode == 0, result.stderr
    flags = {line for line in result.stdout.splitlines() if line.lstrip().startswith("--")}  # to paste: never broken
    wide = [line for line in result.stdout.splitlines() if len(line) > columns and line not in flags
            and not line.strip().startswith("http")]
    assert not wide, wide[:3]


@pytest.mark.parametrize("columns", range(80, 111, 3))
def test_figures_are_whole_or_not_there(meshwright, columns):
    """"+150 ms, tensor parallel -87.…" says nothing, "+15.9 m…" something else."""
    shown = meshwright(*PLAN, "--objective", "gpu-time", environ={"COLUMNS": str(columns)}).stdout
    rows = [line for line in shown.splitlines() if line.endswith("…")]
    half = [row for row in rows if re.search(r"\d\.?…$|[+-][\d.]+ \S*…$", row)]
    assert not half, half


def test_a_pipe_gets_whole_lines(meshwright):
    """Nothing is cut or folded where no terminal is; prose keeps to 100 columns."""
    shown = meshwright("collective", "all_reduce", "--cluster", "dgx-h100", "--nodes", 4).stdout
    plan = meshwright(*PLAN, "--pareto", "time,memory").stdout
    assert "…" not in shown + plan and "infiniband leaf" in shown
    rows = [line for line in shown.splitlines()[2:] if line]
    assert all(len(row.split()) >= 8 for row in rows)
    assert "…" in meshwright(*PLAN, environ={"COLUMNS": "80"}).stdout


def test_ascii_where_the_locale_has_no_utf8(meshwright):
    for variable in ({"LC_ALL": "C"}, {"LC_ALL": "", "LC_CTYPE": "", "LANG": ""}):
        shown = meshwright(*PLAN, environ=variable).stdout
        assert shown.isascii() and "####" in shown
    assert "█" in meshwright(*PLAN).stdout
    data = meshwright("schema", "cluster", environ={"LC_ALL": "C"}).stdout
    assert json.loads(data) == json.loads(meshwright("schema", "cluster").stdout)


def test_color(meshwright):
    assert "\033[1m" not in meshwright(*PLAN).stdout
    assert "\033[1m" not in meshwright("--color", "auto", *PLAN).stdout
    assert "\033[1m" in meshwright("--color", "always", *PLAN).stdout
    assert "\033[1m" in meshwright(*PLAN, "--color", "always", environ={"NO_COLOR": "1"}).stdout
    assert "\033" not in meshwright(*PLAN, "--color", "never").stdout
    refused(meshwright(*PLAN, "--color", "sometimes"), "--color", "always")


@pytest.mark.parametrize(("command", "words"), [
    (["hardware", "list", "gpus"], ["kind", "found 'gpus'", "accelerators"]),
    (["hardware", "list", "node"], ["kind", "found 'node'", "nodes"]),
    (["schema", "jobb"], ["kind", "found 'jobb'", "expected one of job"]),
    (["completion", "tcsh"], ["shell", "found 'tcsh'", "zsh"]),
])
def test_words_of_a_list_are_named(meshwright, command, words):
    refused(meshwright(*command), *words)


def test_hardware_behind_the_command(meshwright, tmp_path):
    (tmp_path / "mine.yaml").write_text("nodes: [{name: my-node, accelerator: H100-SXM5-80GB, accelerators: 8,\n"
                                        "  scale_up: switched, nics: 8, nic: connectx-7, fabric: infiniband}]\n")
    for command in (["--hardware", tmp_path, "hardware", "show", "my-node"], ["hardware", "show", "my-node", "--hardware", tmp_path],
                    ["hardware", "--hardware", tmp_path, "show", "my-node"], [*PLAN[:3], "--cluster", "my-node", *PLAN[5:], "--hardware", tmp_path]):
        result = meshwright(*command)
        assert result.returncode == 0 and "my-node" in result.stdout, result.stderr
    refused(meshwright(*PLAN, "--hardwear", tmp_path), "--hardwear", "--hardware")


def test_a_violation_is_an_answer(meshwright, tmp_path):
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"model": "llama-3.1-8b", "cluster": "dgx-h100", "nodes": 8, "seq_len": 4096,
                               "global_batch": 256, "layout": {"tp": 8, "pp": 3, "dp": 4}}))
    result = meshwright("predict", job, "--json")
    assert result.returncode == 1
    violation = json.loads(result.stdout)["violation"]
    assert violation["rule"] and violation["words"] and violation["nearest"]


def commands():
    text = subprocess.run([program(), "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z]+)  ", text.split("Subcommands:")[1], flags=re.M)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command(meshwright, shell, tmp_path):
    script = meshwright("completion", shell)
    assert script.returncode == 0
    for command in commands():
        assert command in script.stdout
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed: its script is not run")
    path = tmp_path / "completion"
    path.write_text(script.stdout)
    assert subprocess.run([found, "-n", path], capture_output=True, text=True).returncode == 0


def completed(script, *words):
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in words)
    run = (f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _meshwright; "
           "printf '%s\\n' \"${COMPREPLY[@]}\"")
    return subprocess.run(["bash", "-c", run], capture_output=True, text=True, check=True).stdout.split()


def test_bash_completes(meshwright, tmp_path):
    script = tmp_path / "completion.bash"
    script.write_text(meshwright("completion", "bash").stdout)
    assert set(commands()) <= set(completed(script, "meshwright", ""))
    assert completed(script, "meshwright", "pl") == ["plan"]
    assert {"new", "check"} <= set(completed(script, "meshwright", "cluster", ""))
    assert completed(script, "meshwright", "plan", "--global") == ["--global-batch"]
    assert "llama-3.1-405b" in completed(script, "meshwright", "plan", "--model", "llama-3.1-4")
    assert "--oversubscription" in completed(script, "meshwright", "cluster", "new", "--over")


def test_the_manual(meshwright, tmp_path):
    page = meshwright("man").stdout
    assert page.startswith(".TH MESHWRIGHT 1") and ".SH EXIT STATUS" in page
    for command in commands():
        assert f".SS meshwright {command}".replace("-", "\\-") in page
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed: the page is not rendered")
    shown = subprocess.run([groff, "-man", "-Tascii", "-ww", "-z"], input=page, capture_output=True, text=True)
    assert shown.returncode == 0 and shown.stderr == "", shown.stderr
