#!/usr/bin/env python3
"""Sweeps of what-if scenarios at scale: nothing lost or doubled, and how long they take.

  bench/whatif_sweep.py PROGRAM                 10,000 points, each a layout search: whole, and killed twenty times
  bench/whatif_sweep.py PROGRAM --dask 100000   as many points on Dask workers and in one process (needs the package)
"""

import argparse
import json
import pathlib
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

KILLS = 20


def workloads(count):
    return [
        {"name": f"{model} {tokens}", "model": model, "seq_len": 4096, "global_batch": 1024, "tokens": tokens, "exclude": ["cp"]}
        for model, tokens in [("llama-3.1-8b", "1T"), ("llama-2-13b", "1T"), ("qwen3-32b", "2T"), ("mixtral-8x7b", "1T"), ("llama-3.1-8b", "2T")]
    ][:count]


def small_workloads():
    return [
        {"name": model, "model": model, "seq_len": 4096, "global_batch": batch, "tokens": "100B", "exclude": ["cp"]}
        for model, batch in [("llama-3.2-1b", 256), ("llama-3.2-3b", 256), ("llama-3.1-8b", 256), ("llama-2-7b", 512), ("tinyllama-1.1b", 512)]
    ]


def searches():
    """2,000 candidates with 5 workloads, no two with the same cluster."""
    vary = {
        "nodes": [8, 10, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256],
        "nic_bandwidth": ["100 Gb/s", "200 Gb/s", "400 Gb/s", "600 Gb/s", "800 Gb/s"],
        "oversubscription": [1, 1.5, 2, 4, 7],
        "efficiency": [0.7, 0.8, 0.9, 0.95],
    }
    return {"name": "searches", "uncertainty": {"draws": 16}, "workloads": workloads(5),
            "candidates": [{"name": "H100", "cluster": "dgx-h100", "vary": vary}]}


def small_searches(points):
    """As many points, no two with the same cluster and workload: small clusters, so that each search takes milliseconds."""
    vary = {
        "nodes": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24],
        "nic_bandwidth": [f"{rate} Gb/s" for rate in range(100, 500, 20)],
        "oversubscription": [1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 7],
        "efficiency": [0.7 + 0.05 * i for i in range(max(1, points // 20000))],
    }
    return {"name": "small searches", "uncertainty": {"draws": 0}, "workloads": small_workloads(),
            "candidates": [{"name": "H100", "cluster": "dgx-h100", "vary": vary}]}


def lines(store):
    with sqlite3.connect(store) as database:
        return database.execute("SELECT point, line FROM results ORDER BY point").fetchall()


def used():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


class Timed:
    """Wall time and CPU time of the programs started meanwhile."""

    def __enter__(self):
        self.start, self.cpu_start = time.monotonic(), used()
        return self

    def __exit__(self, *_):
        self.wall, self.cpu = time.monotonic() - self.start, used() - self.cpu_start


def sweep(program, scenario, store, threads):
    return [program, "whatif", str(scenario), "--store", str(store), "--threads", str(threads), "--json"]


def killed(command, kills, every):
    wait = random.Random(1)
    at_work = 0
    for _ in range(kills):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=wait.uniform(0.5, 1.5) * every)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            at_work += process.wait() == -signal.SIGKILL
    return at_work


def interrupted(arguments, folder):
    scenario = folder / "scenario.json"
    scenario.write_text(json.dumps(searches()))
    whole, broken = folder / "whole.sqlite", folder / "broken.sqlite"
    with Timed() as plain:
        subprocess.run(sweep(arguments.program, scenario, whole, arguments.threads), stdout=subprocess.DEVNULL, check=True)
    with Timed() as resumed:
        command = sweep(arguments.program, scenario, broken, arguments.threads)
        at_work = killed(command, KILLS, plain.wall / (KILLS + 4))
        before = len(lines(broken))
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    a, b = lines(whole), lines(broken)
    print(f"{len(a):,} points: whole {plain.wall:.0f} s ({plain.cpu:.0f} s of CPU), "
          f"killed {at_work} times with {before:,} points done and resumed {resumed.wall:.0f} s ({resumed.cpu:.0f} s of CPU)")
    print("the same results, none lost, none twice" if a == b else "THE RESULTS DIFFER")
    return a == b and at_work >= KILLS - 2


def on_dask(arguments, folder):
    import meshwright
    from dask.distributed import Client, LocalCluster

    scenario = meshwright.Scenario.from_dict(small_searches(arguments.dask))
    here, there = folder / "here.sqlite", folder / "there.sqlite"
    with LocalCluster(n_workers=arguments.threads, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client, Timed() as spread:
            on_workers = meshwright.whatif(scenario, store=there, chunk=400, executor=client.get_executor())
    with Timed() as alone:
        in_process = meshwright.whatif(scenario, store=here, chunk=400)
    same = lines(here) == lines(there) and in_process.answer == on_workers.answer
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(lines(here)):,} points: {arguments.threads} Dask workers {spread.wall:.0f} s, "
          f"one process {alone.wall:.0f} s, at most {peak:.0f} MiB here")
    print("the same results" if same else "THE RESULTS DIFFER")
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program, build/dev/meshwright")
    parser.add_argument("--dask", type=int, default=0, metavar="POINTS", help="so many points on Dask workers instead")
    parser.add_argument("--threads", type=int, default=2, help="threads or workers")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        same = (on_dask if arguments.dask else interrupted)(arguments, pathlib.Path(folder))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
