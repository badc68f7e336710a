"""One pod on this node: its containers from start to end, and the status that is written of them.

lifecycle.py           pure: which container starts, and when it starts again (CrashLoopBackOff)
worker.py              thin: does it
container_set.py       the containers of a pod while they run; containers.py: what is known of them; assigned_pod.py: the pod
container_start.py     from a pod to running containers; ErrImagePull, CreateContainerConfigError
container_attempts.py  how one run of a container ended: exit code, reason (OOMKilled, Error), termination message
probing.py, hooks.py   postStart, preStop and probes; grpc_probe.py asks those of kind grpc
stopping.py            preStop (by hooks.py), then SIGTERM, at the end of the grace period SIGKILL
status.py              pure: phase, conditions and container statuses; status_writer.py writes them

Tests: tests/cluster/node/pod; whole pods in tests/cluster/node/test_pods.py; assigned_pod.py in test_status_writer.py there,
containers.py and container_set.py in test_lifecycle.py, worker.py in tests/cluster/node/test_node.py.
"""
