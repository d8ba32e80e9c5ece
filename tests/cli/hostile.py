"""What the tests of hostile input share: a job, a run of the program in little memory with what it took, what a refusal is."""

import json
import os
import resource
import subprocess
import time

from conftest import ROOT, program

JOB = {
    "model": "llama-3.1-8b",
    "cluster": "dgx-h100",
    "nodes": 1,
    "seq_len": 4096,
    "global_batch": 64,
    "layout": {"tp": 2, "dp": 4},
}
MODEL = {"name": "m", "layers": 32, "hidden": 4096, "ffn_hidden": 14336, "heads": 32, "kv_heads": 8, "vocab": 128256}
HF = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "vocab_size": 128256,
}


SECONDS, MIB = 1, 256


def limited(mib):
    """Bounds what a process may write to: heap, stacks and maps of its own. An address space also counts the program's text
    and the 64 MiB that the C library sets aside for each thread and never touches."""
    resource.setrlimit(resource.RLIMIT_DATA, (mib << 20, mib << 20))


class Run:
    """A run of the program with what it took: seconds of the clock, and of processors."""

    def __init__(self, *args, seconds=20, mib=MIB, cwd=None, stdout=subprocess.PIPE, env=None, preexec=lambda: None):
        start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        environment = {k: v for k, v in os.environ.items() if k != "MESHWRIGHT_HARDWARE"} | (env or {})
        with subprocess.Popen(
            [program(), *map(os.fsencode, map(str, args))], stdout=stdout, stderr=subprocess.PIPE, cwd=cwd or ROOT, env=environment, preexec_fn=lambda: (preexec(), limited(mib))
        ) as process:
            try:
                out, err = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        self.returncode = process.returncode
        self.stdout, self.stderr = (out or b"").decode(), err.decode()
        self.seconds = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def refused(run, *parts):
    assert run.returncode == 2, (run.returncode, run.stdout[:500], run.stderr[:500])
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1 and len(run.stderr) < 3000, run.stderr[:500]
    assert run.cpu < SECONDS, run.cpu
    for part in parts:
        assert part in run.stderr, run.stderr


def write(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path

PLAN = ["plan", "--model", "llama-3.1-8b", "--cluster", "dgx-h100", "--nodes", 1, "--global-batch", 64, "--seq-len", 4096]
