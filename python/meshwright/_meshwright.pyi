"""
Performance modelling and capacity planning for distributed training of large models.
"""
from __future__ import annotations
import os
import typing
__all__: list[str] = ['Accelerator', 'Cluster', 'Error', 'Job', 'Layout', 'Level', 'Network', 'Node', 'Outcome', 'ParameterCounts', 'Plan', 'Prediction', 'SearchResult', 'Term', 'Transformer', 'accelerators', 'cluster', 'collective', 'launcher_flags', 'model', 'models', 'nodes', 'parse_bandwidth', 'parse_bytes', 'parse_time', 'place_group', 'plan', 'predict', 'search', 'violation']
class Accelerator:
    """
    One accelerator of the hardware database.
    """
    def __repr__(self) -> str:
        ...
    def peak(self, dtype: str) -> float:
        """
        Dense matrix peak [FLOP/s] of 'bf16', 'fp8', ...; 0 where it has none.
        """
    @property
    def architecture(self) -> str:
        ...
    @property
    def memory_bandwidth(self) -> float:
        """
        Data sheet, bytes per second
        """
    @property
    def memory_capacity(self) -> float:
        """
        Bytes
        """
    @property
    def name(self) -> str:
        ...
    @property
    def scale_up_bandwidth(self) -> float:
        """
        All links, bytes per second per direction
        """
    @property
    def sm_count(self) -> int:
        ...
    @property
    def tdp(self) -> float:
        """
        Watts
        """
    @property
    def vendor(self) -> str:
        ...
class Cluster:
    """
    A cluster: a value that carries everything a prediction needs.
    """
    def __getstate__(self) -> str:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: str) -> None:
        ...
    def with_network(self, **kwargs) -> Cluster:
        """
        The same cluster with another network: topology, tiers, oversubscription, reach, planes, switch, routing, efficiency, as in cluster files.
        """
    def with_nic(self, bandwidth: typing.Any) -> Cluster:
        """
        The same cluster with NICs of another speed (bytes per second, or '800 Gb/s').
        """
    @property
    def accelerator(self) -> Accelerator:
        ...
    @property
    def accelerators(self) -> int:
        ...
    @property
    def assumptions(self) -> list[str]:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def network(self) -> Network:
        ...
    @property
    def node(self) -> Node:
        ...
    @property
    def nodes(self) -> int:
        ...
class Error(ValueError):
    """
    Bad input: one line that names the place, what was found and what was expected.
    """
class Job:
    """
    Everything that a prediction needs besides the layout.
    """
    def __getstate__(self) -> str:
        ...
    def __init__(self, *, model: Transformer, cluster: Cluster, seq_len: int, global_batch: int, precision: str = '', framework: str = '', framework_version: str = '', accelerators: int = 0, moe_imbalance: float | None = None) -> None:
        ...
    def __setstate__(self, arg0: str) -> None:
        ...
    @property
    def accelerators(self) -> int:
        ...
    @property
    def assumptions(self) -> list[str]:
        ...
    @property
    def cluster(self) -> Cluster:
        ...
    @property
    def global_batch(self) -> int:
        ...
    @property
    def model(self) -> Transformer:
        ...
    @property
    def seq_len(self) -> int:
        ...
class Layout:
    """
    Degrees of every parallel axis and the choices that go with them.
    """
    __hash__: typing.ClassVar[None] = None
    cp: int
    dp: int
    ep: int
    etp: int
    micro_batch: int
    pp: int
    sequence_parallel: bool
    tp: int
    vp: int
    zero_stage: int
    def __eq__(self, other: Layout) -> bool:
        ...
    def __getstate__(self) -> str:
        ...
    def __init__(self, **kwargs) -> None:
        """
        Layout(tp=8, pp=16, dp=128, micro_batch=1, recompute='none', ...)
        """
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: str) -> None:
        ...
    def to_dict(self) -> typing.Any:
        ...
    @property
    def accelerators(self) -> int:
        ...
    @property
    def recompute(self) -> str:
        ...
    @property
    def schedule(self) -> str:
        ...
class Level:
    """
    One level of a group's place in the fabric.
    """
    @property
    def bandwidth(self) -> float:
        """
        Per rank, bytes per second per direction
        """
    @property
    def latency(self) -> float:
        """
        Seconds, one way
        """
    @property
    def link(self) -> str:
        """
        What limits it
        """
    @property
    def ranks(self) -> int:
        ...
    @property
    def reduces(self) -> bool:
        """
        A switch at this level can reduce
        """
    @property
    def scale_up(self) -> bool:
        ...
class Network:
    """
    The scale-out network as designed.
    """
    @property
    def oversubscription(self) -> list[float]:
        """
        Downlink:uplink by tier, leaf first
        """
    @property
    def routing(self) -> str:
        ...
    @property
    def tiers(self) -> int:
        """
        0 = the fewest that fit
        """
    @property
    def topology(self) -> str:
        ...
class Node:
    """
    A server, tray or host.
    """
    def __repr__(self) -> str:
        ...
    @property
    def accelerator(self) -> str:
        ...
    @property
    def accelerators(self) -> int:
        ...
    @property
    def fabric(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def nic_bandwidth(self) -> float:
        """
        One NIC, bytes per second per direction
        """
    @property
    def nics(self) -> int:
        ...
    @property
    def scale_up_bandwidth(self) -> float:
        """
        Per accelerator, bytes per second per direction
        """
    @property
    def scale_up_domain(self) -> int:
        ...
    @property
    def title(self) -> str:
        ...
class Outcome:
    """
    A layout that can run, as an objective sees it.
    """
    @property
    def accelerators(self) -> int:
        """
        Of the job that is searched
        """
    @property
    def layout(self) -> Layout:
        ...
    @property
    def peak_memory(self) -> float:
        """
        Bytes of the worst stage
        """
    @property
    def step_time(self) -> float:
        """
        Seconds
        """
    @property
    def time(self) -> dict:
        """
        Disjoint terms [s]
        """
class ParameterCounts:
    """
    Parameter counts, in elements.
    """
    @property
    def active(self) -> float:
        """
        Per token
        """
    @property
    def attention(self) -> float:
        ...
    @property
    def dense_layer(self) -> float:
        ...
    @property
    def embedding(self) -> float:
        ...
    @property
    def expert(self) -> float:
        ...
    @property
    def head(self) -> float:
        ...
    @property
    def moe_layer(self) -> float:
        ...
    @property
    def total(self) -> float:
        ...
class Plan:
    """
    A search with what would help, what else could be asked, and why not another layout.
    """
    def to_dict(self) -> typing.Any:
        ...
    @property
    def alternatives(self) -> list:
        """
        Other batches and accelerator counts that run, or do as well
        """
    @property
    def helps(self) -> list:
        """
        What a tenth more of each resource would gain, the most helpful first
        """
    @property
    def result(self) -> SearchResult:
        ...
    @property
    def why_not(self) -> str | None:
        """
        What stands in the way of the layout that was asked about, or how much slower it is
        """
class Prediction:
    """
    Step time, memory and where the time goes, for one layout.
    """
    def __repr__(self) -> str:
        ...
    def to_dict(self) -> typing.Any:
        ...
    @property
    def assumptions(self) -> list[str]:
        ...
    @property
    def breakdown(self) -> Term:
        """
        The whole tree, as a Term
        """
    @property
    def comm_share(self) -> float:
        """
        Exposed communication over step time
        """
    @property
    def fits(self) -> bool:
        ...
    @property
    def hfu(self) -> float:
        ...
    @property
    def layout(self) -> Layout:
        ...
    @property
    def memory(self) -> dict:
        """
        Parts [B]
        """
    @property
    def mfu(self) -> float:
        """
        Model FLOPs over the dense peak of the GEMM format
        """
    @property
    def p10(self) -> float:
        """
        Seconds; 10 % of runs are faster
        """
    @property
    def p90(self) -> float:
        """
        Seconds; 10 % of runs are slower
        """
    @property
    def peak_memory(self) -> float:
        """
        Bytes
        """
    @property
    def step_time(self) -> float:
        """
        Seconds
        """
    @property
    def time(self) -> dict:
        """
        Disjoint terms [s]
        """
    @property
    def tokens_per_s_per_gpu(self) -> float:
        ...
    @property
    def warnings(self) -> list[str]:
        ...
class SearchResult:
    """
    The best layouts of a job, best first.
    """
    def __len__(self) -> int:
        ...
    def __repr__(self) -> str:
        ...
    def to_dict(self) -> typing.Any:
        ...
    @property
    def assumptions(self) -> list[str]:
        ...
    @property
    def considered(self) -> int:
        """
        Layouts in the space
        """
    @property
    def evaluated(self) -> int:
        """
        Layouts whose time was computed
        """
    @property
    def interrupted(self) -> bool:
        """
        True: this is the best so far
        """
    @property
    def layouts(self) -> list[Layout]:
        ...
    @property
    def objective(self) -> str:
        ...
    @property
    def pareto(self) -> list[Layout]:
        """
        Layouts that none beats in all of the `pareto` objectives
        """
    @property
    def passed_over(self) -> int:
        """
        Layouts that a lower bound shows to be worse
        """
    @property
    def refused(self) -> list[tuple[str, int]]:
        """
        (rule, layouts) pairs
        """
    @property
    def stated(self) -> list[str]:
        """
        What was fixed and limited, in words
        """
    @property
    def step_times(self) -> list[float]:
        """
        Seconds
        """
class Term:
    """
    One named term of a breakdown, in base units; its parts sum to it.
    """
    def __repr__(self) -> str:
        ...
    def compare(self, other: Term) -> Term:
        """
        other - self, term by term: again a Term
        """
    def find(self, name: str) -> Term:
        """
        The first term of that name, or None
        """
    def to_dict(self) -> typing.Any:
        ...
    def total(self) -> float:
        """
        Sum of the leaves
        """
    @property
    def formula(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def parts(self) -> list[Term]:
        ...
    @property
    def source(self) -> str:
        """
        The parameter and where it comes from
        """
    @property
    def unit(self) -> str:
        ...
    @property
    def value(self) -> float:
        """
        Base units
        """
class Transformer:
    """
    The shapes of a decoder-only transformer.
    """
    layers: int
    def __getstate__(self) -> str:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: str) -> None:
        ...
    def flops_per_token(self, seq_len: int) -> float:
        """
        Model FLOPs of forward and backward per token, causal half of attention counted.
        """
    @property
    def experts(self) -> int:
        ...
    @property
    def family(self) -> str:
        ...
    @property
    def ffn_hidden(self) -> int:
        ...
    @property
    def head_dim(self) -> int:
        ...
    @property
    def heads(self) -> int:
        ...
    @property
    def hidden(self) -> int:
        ...
    @property
    def is_moe(self) -> bool:
        ...
    @property
    def kv_heads(self) -> int:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def parameters(self) -> ParameterCounts:
        ...
    @property
    def top_k(self) -> int:
        ...
    @property
    def vocab(self) -> int:
        ...
def accelerators() -> list[Accelerator]:
    """
    Every accelerator of the hardware database.
    """
def cluster(name: str, *, nodes: int = 0, accelerators: int = 0, hardware: os.PathLike | None = None) -> Cluster:
    """
    A reference cluster, a node name with a number of nodes, or a cluster file; `hardware` is a folder of overlays.
    """
def collective(name: str, *, cluster: Cluster, sizes: list[float], ranks: int = 0, stride: int = 1, algorithm: str = '', protocol: str = '') -> list:
    """
    Rows as nccl-tests prints them: bytes, time_us, algbw_gbps, busbw_gbps, algo, proto, limiting_link.
    """
def launcher_flags(job: Job, layout: Layout, dialect: str = '') -> list[str]:
    """
    Flags to paste into the launcher.
    """
def model(name: str) -> Transformer:
    """
    A model by preset name or from a Hugging Face config.json.
    """
def models() -> list[Transformer]:
    """
    Every model preset.
    """
def nodes() -> list[Node]:
    """
    Every node of the hardware database.
    """
def parse_bandwidth(text: str) -> float:
    """
    Bytes per second of a text such as '400 Gb/s'.
    """
def parse_bytes(text: str) -> float:
    """
    Bytes of a text such as '80 GB' (10^9) or '80 GiB' (2^30).
    """
def parse_time(text: str) -> float:
    """
    Seconds of a text such as '2.5 us'.
    """
def place_group(cluster: Cluster, size: int, stride: int = 1) -> list[Level]:
    """
    Levels of a group of `size` ranks that are `stride` apart, innermost first.
    """
def plan(job: Job, *, top: int = 5, variants: bool = False, threads: int = 0, max_micro_batch: int = 16, tp_in_domain: bool = False, fix: typing.Any = None, exclude: typing.Any = None, max_memory: typing.Any = None, objective: typing.Any = 'time', pareto: typing.Any = None, constraints: typing.Any = None, accelerators: typing.Any = None, progress: typing.Any = None, why_not: typing.Any = None) -> Plan:
    """
    A search as `search` does it, with what would help most, other batches and accelerator counts, and why not.
    
    why_not: axes that you expected, as {"tp": 8, "pp": 4}.
    """
def predict(job: Job, layout: Layout) -> Prediction:
    """
    The prediction of one layout; Error where the framework refuses it.
    """
def search(job: Job, *, top: int = 5, variants: bool = False, threads: int = 0, max_micro_batch: int = 16, tp_in_domain: bool = False, fix: typing.Any = None, exclude: typing.Any = None, max_memory: typing.Any = None, objective: typing.Any = 'time', pareto: typing.Any = None, constraints: typing.Any = None, accelerators: typing.Any = None, progress: typing.Any = None) -> SearchResult:
    """
    The best layouts over tp, cp, pp, vp, dp, ep, etp, micro-batch, recompute, ZeRO stage, schedule and overlaps.
    
    fix: axes that are given, as {"tp": 8} or "tp=8,recompute=none"; exclude: "cp" or "zero_stage=3".
    objective: a name (time, memory, gpus, gpu-time) or a function of an Outcome, smaller is better; functions run in one
    thread. pareto: two or more of them. constraints: {"name": function of an Outcome that says True}.
    accelerators: counts to choose among. progress(done, total) may return False to stop; Ctrl-C does, too: the result is the
    best so far and `interrupted`.
    """
def violation(job: Job, layout: Layout) -> str | None:
    """
    Why a layout cannot run, or None.
    """
__version__: str = '0.1.0'
