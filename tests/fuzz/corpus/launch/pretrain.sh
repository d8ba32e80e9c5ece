#!/bin/bash
# Llama-3 70B on 8 nodes of 8 GPUs, as Megatron-LM is launched.
TP=8; PP=2
GPUS_PER_NODE=8
MODEL_ARGS=(
  --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64
  --group-query-attention --num-query-groups 8 --seq-length 8192 --swiglu --normalization RMSNorm
  --disable-bias-linear --untie-embeddings-and-output-weights --vocab-size 128256 --position-embedding-type rope
)
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes 8 pretrain_gpt.py "${MODEL_ARGS[@]}" \
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP} --sequence-parallel \
  --micro-batch-size 1 --global-batch-size ${BATCH:-256} --bf16 --use-distributed-optimizer \
  --overlap-grad-reduce --lr 1.0e-4
