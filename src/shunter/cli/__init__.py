"""The `shunter` command, a module per verb with its name; no logic of its own.

jobs, describe, logs, top, plot    `jobs`, `describe JOB` and so on: what there is, one job, what its ranks print, its curves
delete, scale, checkpoints         `delete`, `scale`; checkpoints that jobs of programs have saved
size, runtime, images, demo        `size`, `runtime`; environments that stand for images; three trainings to look at
ui, operator, node, kubectl        processes that stay: the page, the operator, a node; the real kubectl
main.py        the table of verbs; errors and their exit codes (shunter/errors.py)
run.py         `run` and its exit code, for manifests and, with program.py, for programs
target.py      the cluster of a command; its default namespace comes from shunter/kube/kubeconfig.py
clusters.py    `up`, `down`; status.py: `status`; install.py: `install`, `uninstall`
doctor.py      `doctor`; its exit code is decided in shunter/doctor/verdicts.py
tracking.py    what `run` and `describe` say of MLflow
options/       how options are declared and read; output/ how results are shown
migrate/       `migrate VERB`

Tests: tests/cli; verbs that only print (`jobs`, `describe`, `logs`, `images`, `runtime`, `scale`), and whole deletions, in
tests/e2e; main.py and target.py in test_run.py, doctor.py in tests/e2e/test_doctor.py, node.py in
tests/conformance/test_node.py, operator.py in tests/operator/test_main.py, ui.py in tests/page/test_command.py, status.py in
tests/e2e/test_full_disk.py.
"""
