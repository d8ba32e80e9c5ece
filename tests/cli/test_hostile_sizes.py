"""Files that are huge, deep, endless or no files at all: a clear line, soon, and in little memory."""

import gzip
import json
import os
import sqlite3
import subprocess

import pytest

from conftest import program
from cli.hostile import JOB, refused, Run, SECONDS, write


@pytest.mark.parametrize("text", ["[" * 100000, '{"a":' * 100000, "[" * 100000 + "]" * 100000], ids=["lists", "objects", "closed"])
@pytest.mark.parametrize("reader", ["job", "model", "cluster", "overlay", "scenario", "records"])
def test_depth(reader, text, tmp_path):
    deep = write(tmp_path / "deep.json", text)
    args = {
        "job": ["predict", deep],
        "model": ["model", "show", deep],
        "cluster": ["topo", "show", deep],
        "overlay": ["--hardware", tmp_path, "hardware", "list"],
        "scenario": ["whatif", deep],
        "records": ["validate", deep.rename(tmp_path / "deep.jsonl") if reader == "records" else deep],
    }[reader]
    refused(Run(*args), "deep.json", "64 deep")


@pytest.mark.parametrize("kind", ["keys", "values", "name", "key", "bytes"])
def test_size(kind, tmp_path):
    text = {
        "keys": "{" + ",".join(f'"k{i}": 1' for i in range(200000)) + "}",
        "values": '{"model": [' + "1," * 2000000 + "1]}",
        "name": json.dumps({**JOB, "model": "x" * 2000000}),
        "key": json.dumps({**JOB, "k" * 2000000: 1}),
        "bytes": json.dumps({**JOB, "model": "x" * 100000000}),
    }[kind]
    refused(Run("predict", write(tmp_path / "job.json", text)), "job.json")


def test_many_near_keys(tmp_path):
    keys = {f"layuot{i}": 1 for i in range(9000)}
    refused(Run("predict", write(tmp_path / "job.json", {**keys, **{k: v for k, v in JOB.items() if k != "model"}})), "job.json")


@pytest.mark.parametrize("gpus", [10000, 100000])
def test_matrix_of_many(gpus, tmp_path):
    header = "\t" + "\t".join(f"GPU{i}" for i in range(gpus)) + "\tCPU Affinity\n"
    path = write(tmp_path / "topo.txt", header + "GPU0\t X " + "\tNV12" * (gpus - 1) + "\n")
    refused(Run("topo", "import", path), "topo.txt", "at most")


def test_the_largest_node(tmp_path):
    gpus = 1024
    rows = [[f"GPU{r}"] + ["X" if c == r else "NV18" for c in range(gpus)] for r in range(gpus)]
    path = write(tmp_path / "topo.txt", "\t" + "\t".join(f"GPU{i}" for i in range(gpus)) + "\n" + "".join("\t".join(r) + "\n" for r in rows))
    run = Run("topo", "import", path, "--json")
    assert run.returncode == 0, run.stderr
    assert run.cpu < 2 * SECONDS  # a million cells


@pytest.mark.parametrize("devices", [20000, 200000])
def test_xml_of_many(devices, tmp_path):
    pci = '<pci class="0x030200" busid="0000:00:{:02x}.0"><gpu dev="0"/></pci>'
    path = write(tmp_path / "topo.xml", "<system><cpu>" + "".join(pci.format(i) for i in range(devices)) + "</cpu></system>")
    refused(Run("topo", "import", path), "topo.xml", "at most")


def test_rocm_of_huge_weights(tmp_path):
    table = "ROCm\nWeight between two GPUs\n GPU0 GPU1\nGPU0 0 {0}\nGPU1 {0} 0\n\nLink Type between two GPUs\n GPU0 GPU1\nGPU0 0 XGMI\nGPU1 XGMI 0\n"
    run = Run("topo", "import", write(tmp_path / "rocm.txt", table.format("9" * 400)), "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["gpus"] == 2


@pytest.mark.parametrize(("pattern", "ranks"), [("linear_alltoall", 4000), ("allreduce_ring", 4000), ("dissemination", 65536)])
def test_messages_of_many_ranks(pattern, ranks, tmp_path):
    record = {"pattern": pattern, "P": ranks, "bytes": 8, "L": 1, "o": 1, "g": 1, "G": 1, "O": 0, "S": 0, "makespan": 1}
    refused(Run("validate", write(tmp_path / "l.jsonl", record)), pattern, str(ranks))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.sh", "a=xxxxxxxxxx\n" + "".join(f'a="$a$a"\n' for _ in range(60)) + "torchrun x --tensor-model-parallel-size $a\n"),
        ("values.yaml", "a0: &a0 {k: v}\n" + "".join(f"a{i + 1}: &a{i + 1} {{" + ", ".join(f"k{k}: *a{i}" for k in range(9)) + "}\n" for i in range(9))),
        ("empty.yaml", "a0: &a0 {}\n" + "".join(f"a{i + 1}: &a{i + 1} {{" + ", ".join(f"k{k}: *a{i}" for k in range(9)) + "}\n" for i in range(9))),
        ("paths.json", ('{"' + "k" * 900 + '":') * 60 + json.dumps({str(i): 1 for i in range(9000)}) + "}" * 60),
        ("long.sh", "x" * 5_000_000),
    ],
    ids=lambda value: value if len(value) < 20 else "",
)
def test_launch_files_that_unfold(name, text, tmp_path):
    refused(Run("import", "launch", write(tmp_path / name, text)), name, "4194304 bytes")


def test_segments_of_one_byte(tmp_path):
    record = {"pattern": "pipelinedring", "P": 64, "bytes": 1 << 40, "extra": "--segmentsize 1", "L": 1, "o": 1, "g": 1, "G": 1, "O": 0, "S": 0, "makespan": 1}
    refused(Run("validate", write(tmp_path / "l.jsonl", record)), "segments")


# --- what is no file -------------------------------------------------------------------------------------------------

READERS = {
    "job": ["predict"],
    "model": ["model", "show"],
    "log": ["validate"],
    "topology": ["topo", "import"],
    "table": ["calibrate", "gemm"],
    "scenario": ["whatif"],
}


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/tty0", "/dev/full"])
@pytest.mark.parametrize("reader", READERS)
def test_devices_are_no_files(reader, device, tmp_path):
    if not os.path.exists(device):
        pytest.skip("no such device here")
    link = tmp_path / {"table": "x.csv", "log": "x.log", "topology": "x.txt"}.get(reader, "x.json")
    link.symlink_to(device)
    refused(Run(*READERS[reader], link), "device")


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_into_which_nobody_writes(reader, tmp_path):
    pipe = tmp_path / {"table": "x.csv", "log": "x.log", "topology": "x.txt"}.get(reader, "x.json")
    os.mkfifo(pipe)
    refused(Run(*READERS[reader], pipe, seconds=10), pipe.name)


def test_a_pipe_with_a_writer_is_read(tmp_path):
    script = f"{program()} predict <(sleep 0.3; cat {write(tmp_path / 'job.json', JOB)}) --json"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["layout"]["tp"] == 2


@pytest.mark.parametrize(("name", "args"), [("j.json.gz", ["predict"]), ("l.log", ["validate"]), ("p.csv.gz", ["calibrate", "gemm"]), ("t.json.gz", ["trace"])])
def test_gzip_bombs(name, args, tmp_path):
    bomb = tmp_path / name
    bomb.write_bytes(gzip.compress(b"\0" * (8 << 20)) * 256)
    command = ["predict", write(tmp_path / "job.json", JOB), "--measured"] if args == ["trace"] else args
    refused(Run(*command, bomb), name)


@pytest.mark.parametrize("cut", [1, 10, 30])
def test_truncated_gzip(cut, tmp_path):
    whole = gzip.compress(json.dumps(JOB).encode())
    (tmp_path / "job.json.gz").write_bytes(whole[:-cut])
    refused(Run("predict", tmp_path / "job.json.gz"), "not a whole gzip file")


KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COLUMNS = "start, end, deviceId, contextId, streamId, demangledName, shortName"
ENDLESS = {
    "a view": [
        f"CREATE VIEW {KERNELS} AS WITH RECURSIVE k({COLUMNS}) AS (SELECT 1, 2, 0, 0, 7, 1, 1 UNION ALL SELECT start + 1, end + 1, 0, 0, 7, 1, 1 FROM k) SELECT * FROM k",
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
        "INSERT INTO StringIds VALUES (1, 'nvjet')",
    ],
    "a generated column": [
        f"CREATE TABLE {KERNELS} ({COLUMNS})",
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT GENERATED ALWAYS AS (hex(zeroblob(400000000))))",
        "INSERT INTO StringIds (id) VALUES (1)",
        f"INSERT INTO {KERNELS} VALUES (1, 200, 0, 0, 7, 1, 1)",
    ],
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_databases_that_unfold(kind, tmp_path):
    with sqlite3.connect(tmp_path / "trace.sqlite") as database:
        for statement in ENDLESS[kind]:
            database.execute(statement)
    refused(Run("predict", write(tmp_path / "job.json", JOB), "--measured", tmp_path / "trace.sqlite"), "trace.sqlite", "no ")
