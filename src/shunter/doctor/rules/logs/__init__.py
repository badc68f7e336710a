"""T: what logs say.

t00_exception, t90_victims               the first exception; ranks that only lost a peer
t01_mismatch, t02_sizes                  collectives or tensor sizes that differ
t03_gpu_memory                           CUDA out of memory
t04_name, t07_address                    names that do not resolve; a wrong address or port, NetworkPolicies
t05_rendezvous, t06_rank_taken_twice     ranks that did not join; a rank that is there twice
t08_volume, t09_checkpoint               full or read-only volumes, permissions; checkpoints that cannot be read
t10_loss, t11_versions, t12_xid          NaN; versions that differ; errors of GPUs
t13_barrier, t14_timeout, t15_left_early, t16_waits_at_end     who did not come; timeouts; a rank that ended early; MPI at its end
texts                                    whose errors count

Settings of NCCL that are wrong or useless, such as NCCL_SOCKET_IFNAME, are judged in fabrics/settings.py.

Tests: which rules have a verdict in tests/doctor/rule_cases.py, recordings in tests/doctor/corpus; confidence, texts and near
misses of a rule in the file of its module in tests/doctor/rules/logs.
"""
