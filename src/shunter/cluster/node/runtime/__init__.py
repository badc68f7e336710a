"""How containers run on this machine: one protocol, a module per level, and the launcher that starts them.

levels.py                      which level this machine allows
protocol.py                    what every level offers
namespaces.py, plain.py, simulated.py    the levels: own network, names and mounts; plain processes; no processes
pod_ports.py                   which port of this machine stands for a pod's (MASTER_PORT, hostPort) at level plain
cgroups.py                     limits of CPU and memory
network_policies.py            NetworkPolicies enforced, or reported as not enforced
launcher.py, launcher_call.py, forking_process.py    the launcher as the agent sees it; one request; its start
warm_parents.py                from which warm parent a container is forked, if from one

Tests: tests/cluster/node/runtime; levels.py in test_namespaces.py there, launcher.py and network_policies.py in
tests/cluster/node/test_crashes.py and test_network_policies.py; forking_process.py in test_warm_parents.py, launcher_call.py in
tests/cluster/node/test_crashes.py.
"""
