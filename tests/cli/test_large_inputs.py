"""Logs and traces of 2 GB go by in bounded memory: written into a pipe as they are read, so that no disk holds them."""

import json
import os
import subprocess
import threading

import pytest

from conftest import ROOT, program

BYTES = 2 << 30
MOST_MIB = 64  # at the peak, program and shared libraries included
JOB = {
    "model": "llama-3.1-8b",
    "cluster": "dgx-h100",
    "gpus": 8,
    "seq_len": 8192,
    "global_batch": 128,
    "layout": {"tp": 2, "micro_batch": 1},
}


def log():
    """What Megatron-LM prints: arguments, then steps with pages of warnings between them."""
    arguments = (ROOT / "tests/calibrate/logs/megatron-core.log").read_text().split(" [")[0]
    yield arguments.encode()
    noise = b"WARNING: a rank of 64 says the same as all others, again and again and again\n" * 4000
    for step in range(1, BYTES // len(noise)):
        yield noise
        yield b" [2026-01-01 00:00:00] iteration %8d/ 9999999 | consumed samples: 256 | elapsed time per iteration (ms): %.1f | learning rate: 1.0E-04 | global batch size: 256 |\n" % (step, 4210 + step % 7)


def trace():
    """What PyTorch's profiler writes of one rank: operators of the host by the million, kernels of a few steps."""
    yield b'{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],\n'
    yield b'"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}, "traceEvents": [\n'
    event = '{"ph": "X", "cat": "cpu_op", "name": "aten::op%d", "pid": 1, "tid": 1, "ts": %d.5, "dur": 1, "args": {"Call stack": "file.py(12): forward"}},\n'
    noise = "".join(event % (i, i) for i in range(5000)).encode()
    kernel = '{"ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7, "ts": %.1f, "dur": %.1f, "args": {"device": 0, "stream": 7}},\n'
    blocks = BYTES // len(noise)
    for block in range(blocks):
        yield noise
        at = 1e4 * block
        yield (kernel % ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", at, 8e3)).encode()
        if block % max(1, blocks // 5) == 0:
            yield (kernel % ("void multi_tensor_apply_kernel<AdamFunctor<float>>()", at + 8e3, 1e3)).encode()
    yield b'{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}}]}\n'


def peak_while_reading(pipe, pieces, *args):
    """The program's answer, its status, and the most memory that it held, in MiB."""
    os.mkfifo(pipe)

    def feed():
        try:
            with open(pipe, "wb", buffering=0) as out:
                for piece in pieces:
                    out.write(piece)
        except BrokenPipeError:
            pass

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    process = subprocess.Popen([program(), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    out, err = process.stdout.read(), process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    feeder.join(10)
    return out.decode(), err.decode(), process.returncode, used.ru_maxrss / 1024


@pytest.mark.slow
def test_a_log_of_2_gb(tmp_path, record_property):
    pipe = tmp_path / "train.log"
    out, err, status, peak = peak_while_reading(pipe, log(), "validate", str(pipe), "--cluster", "dgx-h100", "--json")
    assert status == 0, err
    run = json.loads(out)["runs"][0]
    assert run["measured"]["step_time_s"] == pytest.approx(4.213, abs=1e-3)
    record_property("peak_mib", peak)
    print(f"peak {peak:.0f} MiB")
    assert peak < MOST_MIB


@pytest.mark.slow
def test_a_trace_of_2_gb(tmp_path, record_property):
    job, pipe = tmp_path / "job.json", tmp_path / "trace.json"
    job.write_text(json.dumps(JOB))
    out, err, status, peak = peak_while_reading(pipe, trace(), "predict", str(job), "--measured", str(pipe), "--json")
    assert status == 0, err
    assert json.loads(out)["measured"]["ranks"][0]["steps"] >= 3
    record_property("peak_mib", peak)
    print(f"peak {peak:.0f} MiB")
    assert peak < MOST_MIB
