"""K: rules by pods, events and other objects of the cluster.

k01_claim, k02_room                             PersistentVolumeClaims; no node
k03_config_secret_image, k04_command            ConfigMaps, Secrets, images; a missing command
k05_host_memory, k06_bus_error, k07_loop        OOMKilled; /dev/shm; CrashLoopBackOff
k08_disruption, k14_node                        evicted, preempted, drained, or the node is gone; not started
k09_quota, k10_queue                            ResourceQuota; Kueue, gangs
k11_master, k13_peers                           a master that has not started; peers that have succeeded
k12_refused, k15_stopped                        a refused object; suspended, managed by others, being deleted
k16_init, k17_sidecar, k18_probe                an init container, or a sidecar, that does not end; a failed probe

Texts and remedies about blocked pods are decided in operator/causes/pods.py, and for those without a node in
operator/causes/placement.py.

Tests: which rules have a verdict in tests/doctor/rule_cases.py, recordings in tests/doctor/corpus; confidence, texts and near
misses of a rule in the file of its module in tests/doctor/rules/cluster.
"""
