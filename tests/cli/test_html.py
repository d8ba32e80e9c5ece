"""`--html`: one file that a browser shows without a complaint, whose figures are those of the JSON, and in which names do
nothing."""

import html
import html.parser
import json
import shutil
import subprocess

import pytest

PLAN = ["plan", "--model", "llama-3.1-70b", "--cluster", "dgx-h100", "--nodes", 8, "--global-batch", 256, "--seq-len", 8192,
        "--pareto", "time,memory", "--why-not", "tp=8,pp=4", "--flags", "megatron", "--json"]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class Page(html.parser.HTMLParser):
    """Figures, tags and what a page would fetch."""

    def __init__(self, text):
        super().__init__()
        self.figures, self.tags, self.fetched, self.handlers = [], set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.tags.add(tag)
        if "data-key" in named:
            self.figures.append((named["data-key"], float(named["data-value"])))
        self.fetched += [value for key, value in attrs if key in ("src", "href")]
        self.handlers += [key for key, _ in attrs if key.startswith("on")]


def at(document, path):
    for key in path.split("/"):
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def check(page, document, least):
    assert len(page.figures) >= least
    for key, value in page.figures:
        assert at(document, key) == value, key
    assert "script" not in page.tags and "img" not in page.tags
    assert page.fetched == [] and page.handlers == []


def predicted(meshwright, tmp_path, name="a model"):
    job = tmp_path / "job.json"
    job.write_text(json.dumps({
        "model": {"name": name, "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn_hidden": 14336, "vocab": 128256,
                  "gated_mlp": True},
        "cluster": {"name": name, "of": "dgx-h100", "nodes": 2}, "seq_len": 8192, "global_batch": 128,
        "layout": {"tp": 2, "pp": 2, "vp": 2, "micro_batch": 1, "zero_stage": 1}}))
    path = tmp_path / "page.html"
    result = meshwright("predict", job, "--json", "--html", path)
    assert result.returncode == 0, result.stderr
    return path, json.loads(result.stdout)


def test_predict(meshwright, tmp_path):
    path, document = predicted(meshwright, tmp_path)
    page = Page(path.read_text())
    check(page, document, 12)
    keys = {key for key, _ in page.figures}
    assert {"step_time_s", "mfu", "peak_memory_bytes", "breakdown/compute_s", "memory/weights_bytes"} <= keys
    shares = sum(value for key, value in page.figures if key.startswith("breakdown/"))
    assert shares == pytest.approx(document["step_time_s"], rel=1e-9)
    assert page.tags >= {"svg", "rect", "table", "details"}


def test_plan(meshwright, tmp_path):
    path = tmp_path / "plan.html"
    result = meshwright(*PLAN, "--html", path)
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    page = Page(path.read_text())
    check(page, document, 20)
    text = path.read_text()
    assert "--tensor-model-parallel-size" in text and "Why not" in text
    for ranked in document["layouts"]:
        assert any(key.startswith("layouts/") and value == ranked["step_time_s"] for key, value in page.figures)


def test_a_plan_of_a_run(meshwright, tmp_path):
    """Days, money and their assumptions; where groups sit; how sure the order is; what was measured near it."""
    path = tmp_path / "run.html"
    result = meshwright(*PLAN, "--tokens", "15T", "--gpu-hour", "$2.50/h", "--html", path)
    assert result.returncode == 0, result.stderr
    document, text = json.loads(result.stdout), path.read_text()
    page = Page(text)
    check(page, document, 25)
    keys = {key for key, _ in page.figures}
    assert {"best/run/days", "best/run/cost_usd", "best/run/goodput", "best/run/power_mw"} <= keys
    for line in document["run_assumptions"]:
        assert html.escape(line, quote=False)[:40] in text.replace("&quot;", '"').replace("&#39;", "'")
    assert "nvlink4" in text and "Nearest published run" in text
    assert ("Too close to call" in text) == bool(document["alike"])


def test_a_plan_without_an_answer(meshwright, tmp_path):
    path = tmp_path / "none.html"
    result = meshwright("plan", "--model", "llama-3.1-405b", "--cluster", "dgx-h100", "--nodes", 1, "--global-batch", 16,
                        "--seq-len", 8192, "--html", path)
    assert result.returncode == 1
    assert "No layout runs" in path.read_text() and "device memory" in path.read_text()


def test_hostile_names_are_inert(meshwright, tmp_path):
    path, document = predicted(meshwright, tmp_path, HOSTILE)
    check(Page(path.read_text()), document, 12)
    assert "<script" not in path.read_text() and "&lt;script&gt;" in path.read_text()


def browser():
    return shutil.which("chromium") or shutil.which("chromium-headless-shell")


@pytest.mark.skipif(browser() is None, reason="no Chromium: the pages are not shown in a browser")
@pytest.mark.parametrize("name", ["a model", HOSTILE])
def test_a_browser_shows_it(meshwright, tmp_path, name):
    path, document = predicted(meshwright, tmp_path, name)
    shown = subprocess.run(
        [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
         f"--user-data-dir={tmp_path / 'profile'}", f"file://{path}"],
        capture_output=True, text=True, timeout=120)
    assert shown.returncode == 0, shown.stderr
    assert "CONSOLE" not in shown.stderr, shown.stderr
    check(Page(shown.stdout), document, 12)
    printed = tmp_path / "page.pdf"
    subprocess.run([browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--print-to-pdf={printed}",
                    f"--user-data-dir={tmp_path / 'profile'}", f"file://{path}"], capture_output=True, timeout=120, check=True)
    assert printed.read_bytes().startswith(b"%PDF")
