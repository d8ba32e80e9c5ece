"""
Performance modelling and capacity planning for distributed training of large models.
"""
from __future__ import annotations
import os
import pandas
import typing
__all__: list[str] = ['Accelerator', 'Cluster', 'Error', 'Job', 'Layout', 'Level', 'Model', 'Network', 'Node', 'Outcome', 'ParameterCounts', 'Plan', 'Prediction', 'ResultStore', 'Scenario', 'SearchResult', 'Term', 'accelerators', 'cluster', 'clusters', 'collective', 'launcher_flags', 'model', 'models', 'nodes', 'parse_bandwidth', 'parse_bytes', 'parse_time', 'place_group', 'plan', 'predict', 'readable', 'run', 'search', 'violation']
class Accelerator:
    """
    One accelerator of the hardware database.
    """
    def __copy__(self) -> Accelerator:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> Accelerator:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def peak(self, dtype: str) -> float:
        """
        Dense matrix peak [FLOP/s] of 'bf16', 'fp8', ...; 0 where it has none.
        """
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
        """
    @property
    def architecture(self) -> str:
        """
        'hopper', 'cdna3', 'tpu-v5p', ...
        """
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
        """
        As the database has it: 'H100-SXM5-80GB'
        """
    @property
    def scale_up_bandwidth(self) -> float:
        """
        All links, bytes per second per direction
        """
    @property
    def sm_count(self) -> int:
        """
        Streaming multiprocessors, compute units or cores; 0 = not published
        """
    @property
    def tdp(self) -> float:
        """
        Watts
        """
    @property
    def vendor(self) -> str:
        """
        'NVIDIA', 'AMD', 'Google', ...
        """
class Cluster:
    """
    A cluster: a value that carries everything a prediction needs. See cluster() and replace().
    """
    def __copy__(self) -> Cluster:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> Cluster:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __init__(self, **kwargs: typing.Any) -> None:
        """
        Cluster(of='dgx-h100', nodes=64, network={'oversubscription': [2]}): the members of a cluster file.
        """
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def replace(self, **kwargs: typing.Any) -> Cluster:
        """
        The same cluster with something else said of it: cluster.replace(nodes=128, network={'planes': 2}). None = the default.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        What was said of it: the members of a cluster file.
        """
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
        """
    def with_network(self, **kwargs: typing.Any) -> Cluster:
        """
        The same cluster with another network: topology, tiers, oversubscription, reach, planes, switch, routing, efficiency, as in cluster files.
        """
    def with_nic(self, bandwidth: typing.Any) -> Cluster:
        """
        The same cluster with NICs of another speed (bytes per second, or '800 Gb/s').
        """
    @property
    def accelerator(self) -> Accelerator:
        """
        The accelerator of its nodes
        """
    @property
    def accelerators(self) -> int:
        """
        Accelerators in all nodes
        """
    @property
    def assumptions(self) -> list[str]:
        """
        Every default that entered, in words
        """
    @property
    def name(self) -> str:
        """
        Name of the cluster, or of its node
        """
    @property
    def network(self) -> Network:
        """
        The scale-out network as designed
        """
    @property
    def node(self) -> Node:
        """
        The node that it is made of
        """
    @property
    def nodes(self) -> int:
        """
        Number of nodes
        """
class Error(ValueError):
    """
    Bad input: one line that names the place, what was found and what was expected.
    """
class Job:
    """
    Everything that a prediction needs besides the layout.
    """
    def __copy__(self) -> Job:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> Job:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __init__(self, *, model: Model, cluster: Cluster, seq_len: int, global_batch: int, precision: str = '', framework: str = '', framework_version: str = '', accelerators: int = 0, moe_imbalance: float | None = None, recipe: typing.Any = None, document_len: int | None = None) -> None:
        """
        seq_len: tokens a sequence; global_batch: sequences a step; precision: "bf16", "fp8", ...; framework: "megatron-core", ... and its version; accelerators: fewer than the cluster has, 0 = all; moe_imbalance: tokens of the busiest expert rank over the mean; recipe: states, kernels, loss, ... as in a job file; document_len: tokens of a document in a packed sequence, inside which attention stays.
        """
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def replace(self, **kwargs: typing.Any) -> Job:
        """
        The same job with something else said of it: job.replace(global_batch=512, precision='fp8'). None = the default.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        What was said of it: the members of a job file.
        """
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
        """
    @property
    def accelerators(self) -> int:
        """
        Accelerators in use
        """
    @property
    def assumptions(self) -> list[str]:
        """
        Every default that entered, in words
        """
    @property
    def cluster(self) -> Cluster:
        """
        What it is trained on
        """
    @property
    def document_len(self) -> int:
        """
        Tokens that attend to one another: of a document in a packed sequence, else seq_len
        """
    @property
    def framework(self) -> str:
        """
        The training stack: 'megatron-core', ...
        """
    @property
    def global_batch(self) -> int:
        """
        Sequences a step
        """
    @property
    def model(self) -> Model:
        """
        What is trained
        """
    @property
    def precision(self) -> str:
        """
        Of the GEMMs: 'bf16', 'fp8', ...
        """
    @property
    def seq_len(self) -> int:
        """
        Tokens a sequence
        """
class Layout:
    """
    Degrees of every parallel axis and the choices that go with them.
    """
    def __copy__(self) -> Layout:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> Layout:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __init__(self, *, tp: int = 1, cp: int = 1, pp: int = 1, vp: int = 1, dp: int = 1, ep: int = 1, etp: int | None = None, micro_batch: int = 1, zero_stage: int = 1, hsdp_shard: int = 0, sequence_parallel: bool = True, recompute: str = 'none', recompute_layers: int = 0, schedule: str = '1f1b', stage_split: str = 'automatic', overlap_grad_reduce: bool = True, overlap_param_gather: bool = True, tp_comm_overlap: bool = False, ep_comm_overlap: bool = False, overlap_p2p: bool = True, cp_kind: str | None = None, stages: list[int] | None = None, order: str | None = None) -> None:
        """
        Every field has the default that a layout in a job file has.
        """
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def replace(self, **kwargs: typing.Any) -> Layout:
        """
        The same layout with other fields: layout.replace(tp=4). None = the default.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        The members of a job file's layout.
        """
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
        """
    @property
    def accelerators(self) -> int:
        """
        tp * cp * pp * dp
        """
    @property
    def cp(self) -> int:
        """
        context parallel degree
        """
    @cp.setter
    def cp(self, value: int) -> None:
        ...
    @property
    def cp_kind(self) -> str | None:
        """
        how context ranks exchange; unset = the stack's default
        """
    @cp_kind.setter
    def cp_kind(self, value: str | None) -> None:
        ...
    @property
    def dp(self) -> int:
        """
        data parallel degree
        """
    @dp.setter
    def dp(self, value: int) -> None:
        ...
    @property
    def ep(self) -> int:
        """
        expert parallel degree, folded over dp, cp and tp
        """
    @ep.setter
    def ep(self, value: int) -> None:
        ...
    @property
    def ep_comm_overlap(self) -> bool:
        """
        dispatch and combine behind the other micro-batch's compute
        """
    @ep_comm_overlap.setter
    def ep_comm_overlap(self, value: bool) -> None:
        ...
    @property
    def etp(self) -> int | None:
        """
        tensor parallel degree inside an expert; unset = the stack's default
        """
    @etp.setter
    def etp(self, value: int | None) -> None:
        ...
    @property
    def hsdp_shard(self) -> int:
        """
        ZeRO-3 over this many ranks, replicated over the rest; 0 = all of dp * cp
        """
    @hsdp_shard.setter
    def hsdp_shard(self, value: int) -> None:
        ...
    @property
    def micro_batch(self) -> int:
        """
        sequences a pass
        """
    @micro_batch.setter
    def micro_batch(self, value: int) -> None:
        ...
    @property
    def order(self) -> str | None:
        """
        'tp-cp-ep-dp-pp': ranks are numbered so, neighbours first; None = the stack's default
        """
    @property
    def overlap_grad_reduce(self) -> bool:
        """
        gradients reduced behind backward
        """
    @overlap_grad_reduce.setter
    def overlap_grad_reduce(self, value: bool) -> None:
        ...
    @property
    def overlap_p2p(self) -> bool:
        """
        pipeline sends behind compute
        """
    @overlap_p2p.setter
    def overlap_p2p(self, value: bool) -> None:
        ...
    @property
    def overlap_param_gather(self) -> bool:
        """
        parameters gathered behind forward
        """
    @overlap_param_gather.setter
    def overlap_param_gather(self, value: bool) -> None:
        ...
    @property
    def pp(self) -> int:
        """
        pipeline stages
        """
    @pp.setter
    def pp(self, value: int) -> None:
        ...
    @property
    def recompute(self) -> str:
        """
        activations that are computed again
        """
    @recompute.setter
    def recompute(self, value: str) -> None:
        ...
    @property
    def recompute_layers(self) -> int:
        """
        under full recompute, layers of each stage or chunk; 0 = all
        """
    @recompute_layers.setter
    def recompute_layers(self, value: int) -> None:
        ...
    @property
    def schedule(self) -> str:
        """
        pipeline schedule; interleaved when vp > 1
        """
    @schedule.setter
    def schedule(self, value: str) -> None:
        ...
    @property
    def sequence_parallel(self) -> bool:
        """
        with tp > 1
        """
    @sequence_parallel.setter
    def sequence_parallel(self, value: bool) -> None:
        ...
    @property
    def stage_split(self) -> str:
        """
        layers over stages
        """
    @stage_split.setter
    def stage_split(self, value: str) -> None:
        ...
    @property
    def stages(self) -> list[int]:
        """
        Layers of each stage, or of each chunk in model order; [] = by stage_split
        """
    @property
    def tp(self) -> int:
        """
        tensor parallel degree
        """
    @tp.setter
    def tp(self, value: int) -> None:
        ...
    @property
    def tp_comm_overlap(self) -> bool:
        """
        gathers and scatters inside the GEMMs (userbuffers)
        """
    @tp_comm_overlap.setter
    def tp_comm_overlap(self, value: bool) -> None:
        ...
    @property
    def vp(self) -> int:
        """
        virtual stages on each
        """
    @vp.setter
    def vp(self, value: int) -> None:
        ...
    @property
    def zero_stage(self) -> int:
        """
        0 none, 1 optimizer, 2 + gradients, 3 + parameters sharded
        """
    @zero_stage.setter
    def zero_stage(self, value: int) -> None:
        ...
class Level:
    """
    One level of a group's place in the fabric.
    """
    def __copy__(self) -> Level:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> Level:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
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
        """
        Ranks of the group at this level
        """
    @property
    def reduces(self) -> bool:
        """
        A switch at this level can reduce
        """
    @property
    def scale_up(self) -> bool:
        """
        Inside the scale-up domain (NVLink and kin)
        """
class Model:
    """
    The shapes of a decoder-only transformer. A value: see replace().
    """
    @staticmethod
    def from_huggingface(config: typing.Any, *, name: str = '') -> Model:
        """
        From a Hugging Face configuration: a dict, a transformers configuration, a config.json, a folder that has one, or the name of a model on the Hub (with the package huggingface_hub).
        """
    def __copy__(self) -> Model:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> Model:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __init__(self, **kwargs: typing.Any) -> None:
        """
        Model(name='mine', layers=32, hidden=4096, heads=32, ffn_hidden=14336, vocab=128256, ...): the members of a model file.
        """
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def flops_per_token(self, seq_len: int) -> float:
        """
        Model FLOPs of forward and backward per token, causal half of attention counted.
        """
    def replace(self, **kwargs: typing.Any) -> Model:
        """
        The same model with other members: model.replace(layers=16). None = the default.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        The members of a model file.
        """
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
        """
    @property
    def experts(self) -> int:
        """
        Routed experts of an MoE block; 0 = dense
        """
    @property
    def family(self) -> str:
        """
        'llama', 'gpt', 'mixtral', 'deepseek', ...
        """
    @property
    def ffn_hidden(self) -> int:
        """
        Inner width of the dense MLP
        """
    @property
    def head_dim(self) -> int:
        """
        Width of one head
        """
    @property
    def heads(self) -> int:
        """
        Attention heads
        """
    @property
    def hidden(self) -> int:
        """
        Model width
        """
    @property
    def is_moe(self) -> bool:
        """
        Has routed experts
        """
    @property
    def kv_heads(self) -> int:
        """
        Heads of keys and values
        """
    @property
    def layers(self) -> int:
        """
        Transformer blocks, without multi-token prediction
        """
    @layers.setter
    def layers(self, arg1: int) -> None:
        ...
    @property
    def name(self) -> str:
        """
        Preset's name, or the file's
        """
    @property
    def parameters(self) -> ParameterCounts:
        """
        Parameter counts
        """
    @property
    def top_k(self) -> int:
        """
        Routed experts a token; 0 = dense
        """
    @property
    def vocab(self) -> int:
        """
        Tokens in the vocabulary, before padding
        """
class Network:
    """
    The scale-out network as designed; Cluster.replace(network=...) changes it.
    """
    def __copy__(self) -> Network:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> Network:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
        """
    @property
    def oversubscription(self) -> list[float]:
        """
        Downlink:uplink by tier, leaf first
        """
    @property
    def planes(self) -> int:
        """
        Independent copies; 0 = as the topology has them
        """
    @property
    def routing(self) -> str:
        """
        'adaptive', 'ecmp', 'static' or 'spray'
        """
    @property
    def tiers(self) -> int:
        """
        0 = the fewest that fit
        """
    @property
    def topology(self) -> str:
        """
        'fat-tree', 'rail-optimised', 'rail-only', 'dragonfly', ...
        """
class Node:
    """
    A server, tray or host.
    """
    def __copy__(self) -> Node:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> Node:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
        """
    @property
    def accelerator(self) -> str:
        """
        Name of its accelerators
        """
    @property
    def accelerators(self) -> int:
        """
        Accelerators in one node
        """
    @property
    def fabric(self) -> str:
        """
        Scale-out fabric: 'infiniband', 'roce', 'efa', 'ici', 'none', ...
        """
    @property
    def name(self) -> str:
        """
        As the database has it: 'dgx-h100'
        """
    @property
    def nic_bandwidth(self) -> float:
        """
        One NIC, bytes per second per direction
        """
    @property
    def nics(self) -> int:
        """
        NICs of one node for the training fabric
        """
    @property
    def scale_up_bandwidth(self) -> float:
        """
        Per accelerator, bytes per second per direction
        """
    @property
    def scale_up_domain(self) -> int:
        """
        Accelerators in one scale-up domain, which may span nodes (NVL72: 72)
        """
    @property
    def title(self) -> str:
        """
        As its maker calls it: 'NVIDIA DGX H100'
        """
class Outcome:
    """
    A layout that can run, as an objective sees it.
    """
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    @property
    def accelerators(self) -> int:
        """
        Of the job that is searched
        """
    @property
    def layout(self) -> Layout:
        """
        What is judged
        """
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
    def time(self) -> dict[str, float]:
        """
        Disjoint terms [s]
        """
class ParameterCounts:
    """
    Parameter counts, in elements.
    """
    def __copy__(self) -> ParameterCounts:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> ParameterCounts:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
        """
    @property
    def active(self) -> float:
        """
        Per token: chosen and shared experts, attention, embeddings, head
        """
    @property
    def attention(self) -> float:
        """
        Attention part of one block
        """
    @property
    def dense_layer(self) -> float:
        """
        One dense block
        """
    @property
    def embedding(self) -> float:
        """
        Input embedding and learned positions
        """
    @property
    def expert(self) -> float:
        """
        One routed expert
        """
    @property
    def head(self) -> float:
        """
        Output projection; 0 when tied
        """
    @property
    def moe_layer(self) -> float:
        """
        One MoE block, all experts
        """
    @property
    def total(self) -> float:
        """
        As model cards count
        """
class Plan:
    """
    A search with what would help, what else could be asked, and why not another layout.
    """
    def __copy__(self) -> Plan:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> Plan:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __iter__(self) -> typing.Iterator[Prediction]:
        ...
    def __len__(self) -> int:
        ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def to_dict(self) -> dict[str, typing.Any]:
        """
        The document of `meshwright plan --json`; units in the keys.
        """
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
        """
    @property
    def alternatives(self) -> list[dict[str, typing.Any]]:
        """
        Other batches and accelerator counts that run, or do as well; a layout that is surer to fit
        """
    @property
    def helps(self) -> list[dict[str, typing.Any]]:
        """
        What a tenth more of each resource would gain, the most helpful first
        """
    @property
    def result(self) -> SearchResult:
        """
        The layouts, best first
        """
    @property
    def why_not(self) -> str | None:
        """
        What stands in the way of the layout that was asked about, or how much slower it is
        """
class Prediction:
    """
    Step time, memory and where the time goes, for one layout.
    """
    def __copy__(self) -> Prediction:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> Prediction:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def timeline(self) -> list[dict[str, typing.Any]]:
        """
        Slices of the pipeline's timeline: stage, what ('forward', 'backward_input', ...), start_s, end_s, micro_batch, chunk.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        The document of `meshwright predict --json`; units in the keys.
        """
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
        """
    @property
    def assumptions(self) -> list[str]:
        """
        Every default that entered, in words
        """
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
        """
        More likely than not
        """
    @property
    def fits_probability(self) -> float:
        """
        That the peak stays below what the device holds
        """
    @property
    def hfu(self) -> float:
        """
        The same with work that is done again
        """
    @property
    def job(self) -> Job:
        """
        What was asked
        """
    @property
    def layout(self) -> Layout:
        """
        With every default of the stack stated
        """
    @property
    def memory(self) -> dict[str, float]:
        """
        Parts at the worst stage [B]
        """
    @property
    def memory_by_stage(self) -> list[dict[str, float]]:
        """
        The same parts of every pipeline stage, and their 'reserved' sum [B]
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
        Bytes of the worst stage
        """
    @property
    def peak_memory_p10(self) -> float:
        """
        Bytes; 10 % of runs need less
        """
    @property
    def peak_memory_p90(self) -> float:
        """
        Bytes; 10 % of runs need more
        """
    @property
    def step_time(self) -> float:
        """
        Seconds
        """
    @property
    def time(self) -> dict[str, float]:
        """
        Disjoint terms [s]
        """
    @property
    def tokens_per_s_per_gpu(self) -> float:
        """
        Tokens per second of one accelerator
        """
    @property
    def warnings(self) -> list[str]:
        """
        What makes the figures less sure, in words
        """
class ResultStore:
    """
    Results of one scenario on disk (SQLite): none lost, none twice.
    """
    def __init__(self, file: str | os.PathLike[str], scenario: Scenario) -> None:
        ...
    def __len__(self) -> int:
        ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def add(self, point: int, line: str) -> None:
        """
        Keeps the result of a point.
        """
    def commit(self) -> None:
        """
        Makes what was added durable.
        """
    def has(self, point: int) -> bool:
        """
        Whether the result of that point is there
        """
    def lines(self) -> list[str]:
        """
        Every result, a line of JSON each.
        """
class Scenario:
    """
    Candidates, workloads, prices and questions: a procurement question.
    """
    @staticmethod
    def from_dict(object: dict[str, typing.Any]) -> Scenario:
        """
        The same from a dict; "include" is refused.
        """
    def __copy__(self) -> Scenario:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> Scenario:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __init__(self, file: str | os.PathLike[str]) -> None:
        """
        Reads a scenario file with its includes.
        """
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def conclude(self, lines: list[str]) -> dict[str, typing.Any]:
        """
        {'answer', 'csv', 'html'} from the results of all points, in any order.
        """
    def evaluate(self, points: list[int]) -> list[str]:
        """
        Results of points by number, a line of JSON each; any process.
        """
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
        """
    @property
    def name(self) -> str:
        """
        As the file has it
        """
    @property
    def points(self) -> int:
        """
        Candidates times workloads
        """
class SearchResult:
    """
    The best layouts of a job, best first: iterates over predictions.
    """
    def __copy__(self) -> SearchResult:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> SearchResult:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getitem__(self, index: int) -> Prediction:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __iter__(self) -> typing.Iterator[Prediction]:
        ...
    def __len__(self) -> int:
        ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def to_dict(self) -> dict[str, typing.Any]:
        """
        The document of a search; units in the keys.
        """
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
        """
    @property
    def assumptions(self) -> list[str]:
        """
        Every default that entered, in words
        """
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
    def job(self) -> Job:
        """
        What was asked
        """
    @property
    def layouts(self) -> list[Layout]:
        """
        Best first
        """
    @property
    def objective(self) -> str:
        """
        By what the layouts are ordered
        """
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
    def predictions(self) -> list[Prediction]:
        """
        Of the layouts, best first
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
        Of the layouts [s]
        """
class Term:
    """
    One named term of a breakdown, in base units; its parts sum to it.
    """
    def __copy__(self) -> Term:
        ...
    def __deepcopy__(self, memo: dict[str, typing.Any]) -> Term:
        ...
    def __eq__(self, other: typing.Any) -> bool:
        ...
    def __getstate__(self) -> tuple[typing.Any, ...]:
        ...
    def __hash__(self) -> int:
        ...
    def __iter__(self) -> typing.Iterator[Term]:
        ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        ...
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None:
        ...
    def _repr_html_(self) -> str:
        ...
    def compare(self, other: Term) -> Term:
        """
        other - self, term by term: again a Term
        """
    def find(self, name: str) -> Term:
        """
        The first term of that name, or None
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        The whole tree
        """
    def to_frame(self) -> pandas.DataFrame:
        """
        Rows of a frame; columns carry their unit, as `step_time_s`.
        """
    def total(self) -> float:
        """
        Sum of the leaves
        """
    @property
    def formula(self) -> str:
        """
        With its numbers
        """
    @property
    def name(self) -> str:
        """
        As tables show it
        """
    @property
    def parts(self) -> list[Term]:
        """
        Terms that sum to it
        """
    @property
    def source(self) -> str:
        """
        The parameter and where it comes from
        """
    @property
    def unit(self) -> str:
        """
        's' or 'B'
        """
    @property
    def value(self) -> float:
        """
        Base units
        """
def _checked_runs(files: typing.Sequence[str | os.PathLike[str]], hardware: str | os.PathLike[str] | None, *, model: str = '', cluster: str = '', nodes: int = 0, gpus: int = 0, seq_len: int = 0) -> str:
    """
    JSON text of `meshwright validate --json` for training runs.
    """
def _fitted_runs(files: typing.Sequence[str | os.PathLike[str]], hardware: str | os.PathLike[str] | None, description: str, *, model: str = '', cluster: str = '', nodes: int = 0, gpus: int = 0, seq_len: int = 0) -> tuple[typing.Any, ...]:
    """
    (overlay as JSON text, figures, errors) of `meshwright calibrate runs`.
    """
def _write_file(path: str | os.PathLike[str], text: str) -> None:
    """
    Writes a file whole or not at all.
    """
def accelerators(*, hardware: str | os.PathLike[str] | None = None) -> list[Accelerator]:
    """
    Every accelerator of the hardware database with the overlays of the folder `hardware` and of the environment's MESHWRIGHT_HARDWARE.
    """
def cluster(name: str, *, nodes: int = 0, accelerators: int = 0, hardware: str | os.PathLike[str] | None = None) -> Cluster:
    """
    A reference cluster, a node name with a number of nodes, or a cluster file; `hardware` is a folder of overlays.
    """
def clusters(*, hardware: str | os.PathLike[str] | None = None) -> list[Cluster]:
    """
    Every reference cluster of the hardware database, with overlays as accelerators() takes them.
    """
def collective(name: str, *, cluster: Cluster, sizes: list[float], ranks: int = 0, stride: int = 1, algorithm: str = '', protocol: str = '') -> list[dict[str, typing.Any]]:
    """
    Rows as nccl-tests prints them: bytes, time_us, algbw_gbps, busbw_gbps, algo, proto, limiting_link.
    """
def launcher_flags(job: Job, layout: Layout, dialect: str = '') -> list[str]:
    """
    Flags or lines of a configuration to paste into the launcher of the job's stack, or of `dialect`.
    """
def model(name: str) -> Model:
    """
    A model by preset name or from a Hugging Face config.json.
    """
def models() -> list[Model]:
    """
    Every model preset.
    """
def nodes(*, hardware: str | os.PathLike[str] | None = None) -> list[Node]:
    """
    Every node of the hardware database with the overlays of the folder `hardware` and of the environment's MESHWRIGHT_HARDWARE.
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
    The prediction of one layout; Error where it cannot run.
    """
def readable(value: float, unit: str) -> str:
    """
    A figure in base units for people: readable(0.0127, 's') is '12.7 ms'; units s, B, B/s, FLOP/s, FLOP, W, $, %, '' (a count).
    """
def run(job: Job, tokens: typing.Any, layout: Layout | None = None, assume: typing.Any = None) -> typing.Any:
    """
    Days, goodput, money and energy of a training run: tokens as a number or "15T"; the best layout by search where none is given; `assume` is a dict of "prices", "power", "failures", "checkpoint", "stragglers", "phases", "ramp", "evaluation" and "warm_up" as in a scenario.
    """
def search(job: Job, *, top: int = 5, variants: bool = False, threads: int = 0, max_micro_batch: int = 16, tp_in_domain: bool = False, fix: typing.Any = None, exclude: typing.Any = None, max_memory: typing.Any = None, objective: typing.Any = 'time', pareto: typing.Any = None, constraints: typing.Any = None, accelerators: typing.Any = None, progress: typing.Any = None) -> SearchResult:
    """
    The best layouts over tp, cp, pp, vp, dp, ep, etp, micro-batch, recompute, ZeRO stage, schedule and overlaps.
    
    fix: axes that are given, as {"tp": 8} or "tp=8,recompute=none"; exclude: "cp" or "zero_stage=3".
    max_memory: of a device, as bytes, "64 GB" or "90%".
    objective: a name (time, p90, regret, memory, gpus, gpu-time) or a function of an Outcome, smaller is better; functions run in one
    thread. pareto: two or more of them. constraints: {"name": function of an Outcome that says True}.
    accelerators: counts to choose among. progress(done, total) may return False to stop; Ctrl-C does, too: the result is the
    best so far and `interrupted`.
    """
def violation(job: Job, layout: Layout) -> str | None:
    """
    Why a layout cannot run, or None.
    """
__version__: str = '0.1.0'
