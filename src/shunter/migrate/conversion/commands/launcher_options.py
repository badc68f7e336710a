"""The options of the programs that start training processes, as far as they take values."""

from __future__ import annotations

from shunter.migrate.conversion.commands.arguments import syntax

TORCHRUN = syntax(
    "nnodes nproc-per-node rdzv-backend rdzv-endpoint rdzv-id rdzv-conf max-restarts monitor-interval start-method role log-dir "
    "redirects tee local-ranks-filter node-rank master-addr master-port local-addr logs-specs event-log-handler numa-binding "
    "signals-to-handle duplicate-stdout-filters duplicate-stderr-filters log-line-prefix-template shutdown-timeout",
    abbreviates=True,
    r="redirects",
    t="tee",
    m="module",
)
"""torchrun and its older names (torch 2.15: torch/distributed/run.py)."""
ACCELERATE = syntax(
    "config-file num-processes num-machines machine-rank main-process-ip main-process-port mixed-precision gpu-ids rdzv-backend "
    "rdzv-conf max-restarts monitor-interval tee log-dir role dynamo-backend dynamo-mode num-cpu-threads-per-process env "
    "deepspeed-config-file zero-stage deepspeed-hostfile deepspeed-multinode-launcher deepspeed-exclusion-filter "
    "deepspeed-inclusion-filter offload-optimizer-device offload-param-device offload-optimizer-nvme-path "
    "offload-param-nvme-path gradient-accumulation-steps gradient-clipping zero3-init-flag zero3-save-16bit-model "
    "deepspeed-moe-layer-cls-names fsdp-version fsdp-sharding-strategy fsdp-offload-params fsdp-min-num-params "
    "fsdp-reshard-after-forward fsdp-auto-wrap-policy fsdp-transformer-layer-cls-to-wrap fsdp-backward-prefetch "
    "fsdp-forward-prefetch fsdp-state-dict-type fsdp-use-orig-params fsdp-cpu-ram-efficient-loading fsdp-sync-module-states "
    "fsdp-activation-checkpointing megatron-lm-tp-degree megatron-lm-pp-degree megatron-lm-num-micro-batches "
    "megatron-lm-sequence-parallelism megatron-lm-recompute-activations megatron-lm-use-distributed-optimizer "
    "megatron-lm-gradient-clipping fp8-backend fp8-format tpu-vm tpu-name tpu-zone",
    m="module",
)
DEEPSPEED = syntax(
    "hostfile include exclude num-nodes num-gpus num-accelerators min-elastic-nodes max-elastic-nodes master-port master-addr "
    "node-rank launcher launcher-args autotuning enable-each-rank-log bind-core-list ssh-port venv-script",
    H="hostfile",
    i="include",
    e="exclude",
)
MPIRUN = syntax(
    "np x H hostfile default-hostfile bind-to map-by rank-by output-filename wdir wd path prefix ppn perhost timeout env "
    "genvlist npernode npersocket N rankfile rf cpu-set",
    pairs="mca gmca genv prtemca pmixmca",
    n="np",
    c="np",
    f="hostfile",
    host="H",
    hosts="H",
    machinefile="hostfile",
)
HOROVODRUN = syntax(
    "np H hostfile p ssh-port network-interfaces min-np max-np min-num-proc max-num-proc host-discovery-script slots-per-host "
    "start-timeout elastic-timeout reset-limit output-filename config-file mpi-args nics log-level num-proc hosts"
)
