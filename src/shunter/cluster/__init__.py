"""The embedded cluster: enough of Kubernetes on one machine that kubectl, the SDKs and our operator work unmodified.

Three processes that meet only over HTTP: the API server, the operator, and the agent (built-in controllers, scheduler, node).

apiserver/, controllers/, node/    see there; agent.py: the process of the latter two
policy_types/                  the type check of admission policies, in the process of the controllers
lifecycle.py, supervisor.py    `up` and `down`; the process that keeps the others alive, and ends with the state directory
supervisor_end.py              how `down` ends it
credentials.py                 keys, certificates, tokens and kubeconfigs of a cluster
state_dir.py, disk_space.py, free_ports.py    where it keeps everything; the warning when the disk is nearly full; ports
target.py, namespaces.py       which cluster is meant when none is named; a namespace that is named is created
image_builds.py                `images build`: environments that stand for images
mlflow_server.py, mlflow_start.py    its MLflow server
local_path.py, enforced_policies.py, dial_errors.py    marks of volumes; of NetworkPolicies; why no connection came about

Tests: tests/cluster; supervisor.py and supervisor_end.py in test_lifecycle.py there; dial_errors.py in
tests/cluster/node/pod/test_hooks.py, enforced_policies.py in tests/cluster/node/test_network_policies.py, local_path.py in
tests/cluster/controllers/volumes/test_volume_plan.py, mlflow_server.py and mlflow_start.py in test_lifecycle.py and
tests/cli/test_tracking.py, namespaces.py in tests/launch/test_applying.py; agent.py runs in all of tests/e2e.
"""
