"""`collective` and `topo check`: cost models, forced channels, and what was measured of links and machines."""

import json

import pytest
from conftest import refused

ALL_REDUCE = ["collective", "all_reduce", "--cluster", "dgx-h100"]


def rows(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["rows"]


def perftest(tmp_path, gigabits, test="RDMA_Write BW Test"):
    """As ib_write_bw --report_gbits prints it."""
    path = tmp_path / "write_bw.txt"
    path.write_text(f"""\
---------------------------------------------------------------------------------------
                    {test}
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Link type       : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             {gigabits * 0.9:.2f}             {gigabits * 0.9:.2f}   \t\t   0.7
 8388608    5000             {gigabits:.2f}             {gigabits:.2f}   \t\t   0.006
---------------------------------------------------------------------------------------
""")
    return path


@pytest.mark.parametrize("model", ["calibrated", "alpha-beta", "loggp", "flow"])
def test_every_cost_model_prices_a_row(meshwright, model):
    found = rows(meshwright(*ALL_REDUCE, "--nodes", "2", "-b", "1G", "-e", "1G", "--algo", "ring", "--cost-model", model,
                            "--json"))
    assert len(found) == 1 and found[0]["algo"] == "ring" and 1e3 < found[0]["time_us"] < 1e6


def test_calibrated_is_the_default(meshwright):
    args = [*ALL_REDUCE, "--nodes", "2", "-b", "1M", "-e", "1M", "--json"]
    assert rows(meshwright(*args)) == rows(meshwright(*args, "--cost-model", "calibrated"))


def test_loggp_says_how_far_it_goes(meshwright):
    args = [*ALL_REDUCE, "-b", "1M", "-e", "1M", "--algo", "ring", "--cost-model", "loggp"]
    assert rows(meshwright(*args, "--nodes", "16", "--json"))[0]["time_us"] > 0
    result = meshwright(*args, "--nodes", "1024")
    assert result.returncode == 2 and "messages" in result.stderr and "--ranks" in result.stderr


def test_fewer_channels_reach_less(meshwright):
    args = [*ALL_REDUCE, "--nodes", "2", "-b", "1G", "-e", "1G", "--policy", "nccl", "--json"]
    free, two, four = (rows(meshwright(*args, *more))[0]["busbw_gbps"]
                       for more in ([], ["--max-nchannels", "2"], ["--max-nchannels", "4"]))
    assert two < four < free
    assert rows(meshwright(*args, "--min-nchannels", "32"))[0]["busbw_gbps"] <= free


@pytest.mark.parametrize(("more", "words"), [
    (["--max-nchannels", "4"], ["--max-nchannels", "--policy nccl"]),
    (["--policy", "nccl", "--min-nchannels", "8", "--max-nchannels", "4"], ["--min-nchannels", "8", "4"]),
    (["--policy", "nccl", "--max-nchannels", "4", "--algo", "bruck_k2"], ["bruck_k2"]),
    (["--cost-model", "logp"], ["logp", "loggp"]),
    (["--raw-rdma", "12 parsecs"], ["--raw-rdma", "parsecs"]),
    (["--scaling", "-1"], ["--scaling"]),
    (["--lines", "absent.log"], ["absent.log"]),
])
def test_bad_options(meshwright, more, words):
    result = meshwright(*ALL_REDUCE, "--nodes", "2", *more)
    assert result.returncode == 2 and result.stdout == "" and len(result.stderr.splitlines()) == 1
    assert all(word in result.stderr for word in words), result.stderr


@pytest.mark.parametrize("command", [[*ALL_REDUCE, "--nodes", "2"], ["topo", "check", "dgx-h100", "--nodes", "2"]])
def test_a_link_baseline_is_read(meshwright, tmp_path, command):
    sound = json.loads(meshwright(*command, "--measured", perftest(tmp_path, 392), "--json").stdout)
    assert sound["diagnosis"]["healthy"] and sound["device"] == "mlx5_0"
    assert sound["rows"][1]["of_nic_rate"] == pytest.approx(0.98)
    slow = json.loads(meshwright(*command, "--measured", perftest(tmp_path, 97), "--json").stdout)
    assert [f["cause"] for f in slow["diagnosis"]["findings"]] == ["slow_network"]
    shown = meshwright(*command, "--measured", perftest(tmp_path, 97)).stdout
    assert "slow_network" in shown and "24 %" in shown


def test_what_is_known_sharpens_the_diagnosis(meshwright, tmp_path):
    """392 Gb/s a rail raw and 231 GB/s of all-reduce: each step costs too much (github.com/NVIDIA/nccl, issue 2409)."""
    def causes(*more):
        found = json.loads(meshwright(*ALL_REDUCE, "--nodes", "2", *more, "--json").stdout)
        return [f["cause"] for f in found["diagnosis"]["findings"]]

    assert causes("--busbw", "231 GB/s", "--raw-rdma", "392 Gb/s")[0] == "per_step_latency"
    assert causes("--busbw", "231 GB/s", "--raw-rdma", perftest(tmp_path, 392))[0] == "per_step_latency"
    assert causes("--busbw", "90 GB/s", "--one-node-busbw", "470 GB/s")[0] == "between_nodes"
    assert causes("--scaling", "0.33") == ["slow_network"]
    lines = tmp_path / "nccl.log"
    lines.write_text("node1: NCCL INFO NET/Socket : Using [0]eth0\n")
    assert causes("--lines", lines) == ["tcp_sockets"]


def test_our_own_table_is_as_predicted(meshwright, tmp_path):
    table = rows(meshwright(*ALL_REDUCE, "--nodes", "2", "-b", "1M", "-e", "8G", "-f", "8", "--policy", "nccl",
                            "--max-nchannels", "8", "--json"))
    log = tmp_path / "all_reduce.log"
    log.write_text("".join(f"{r['bytes']:.0f} {r['bytes'] / 4:.0f} float sum -1 {r['time_us']:.2f} {r['algbw_gbps']:.2f} "
                           f"{r['busbw_gbps']:.2f} 0\n" for r in table))
    found = json.loads(meshwright(*ALL_REDUCE, "--nodes", "2", "--measured", log, "--max-nchannels", "8", "--json").stdout)
    assert found["diagnosis"]["healthy"] and max(abs(r["relative_error"]) for r in found["rows"]) < 1e-3


@pytest.mark.parametrize("policy", [[], ["--policy", "fastest"], ["--policy", "nccl"]])
@pytest.mark.parametrize("cluster", [["--cluster", "dgx-h100", "--nodes", 4], ["--cluster", "TWO_NICS"]])
def test_what_collective_prints_it_reads(meshwright, tmp_path, policy, cluster):
    """The table for people and rows in nccl-tests' columns alike, whatever chose the algorithms."""
    if cluster == ["--cluster", "TWO_NICS"]:
        path = tmp_path / "two.json"
        path.write_text('{"of": "dgx-a100", "nodes": 2, "node": {"nics": 2}}')
        cluster = ["--cluster", path]
    ask = ["collective", "all_reduce", *cluster]
    log = tmp_path / "table.txt"
    log.write_text(meshwright(*ask, "-b", "1M", "-e", "4G", "-f", 4, *policy).stdout)
    for stated in ([], policy):
        found = json.loads(meshwright(*ask, "--measured", log, *stated, "--json").stdout)
        assert found["diagnosis"]["healthy"], found["diagnosis"]
        assert max(abs(r["relative_error"]) for r in found["rows"]) < 2e-3 and len(found["rows"]) == 7
    table = rows(meshwright(*ask, "-b", "1M", "-e", "4G", "-f", 4, *policy, "--json"))
    log.write_text("".join(f"{r['bytes']:.0f} {r['bytes'] / 4:.0f} float sum -1 {r['time_us']:.2f} {r['algbw_gbps']:.2f} "
                           f"{r['busbw_gbps']:.2f} 0\n" for r in table))
    found = json.loads(meshwright(*ask, "--measured", log, "--json").stdout)
    assert found["diagnosis"]["healthy"], found["diagnosis"]


def test_a_routed_row_says_what_it_is_for(meshwright):
    for row in ("node_limited_dispatch", "node_limited_combine"):
        refused(meshwright("collective", "all_to_all", "--cluster", "dgx-h100", "--nodes", 2, "--algo", row), "--algo", "--token-nodes")
