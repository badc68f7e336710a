"""The controller of DaemonSets: one pod on each node that takes it.

Behaves as Kubernetes 1.36's `pkg/controller/daemon`. The scheduler places the pods: each names its node by node affinity.

plan.py                       one reconcile, and the status
controller.py                 the I/O layer: what the plan sees, from the shared caches
nodes.py, pod.py              on which nodes a pod belongs, and how it names its node
rolling.py, history.py        a rolling update; revisions of the template
backoff.py                    how long a failed pod is waited for

Tests: tests/cluster/controllers/daemonset; plan in test_nodes.py and test_rolling.py there; history.py and pod.py in
test_rolling.py and test_nodes.py there, controller.py in tests/e2e/test_workloads.py.
"""
