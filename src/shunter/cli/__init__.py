"""The `shunter` command, a module per verb group; no logic of its own.

main.py        the table of verbs; errors and their exit codes (shunter/errors.py)
run.py         `run` and its exit code, for manifests and, with program.py, for programs
following.py   follows a job that was started until it ends or --timeout, and reports how it ended
target.py      the cluster of a command; its default namespace comes from shunter/kube/kubeconfig.py
options/       how options are declared and read; output/ how results are shown
migrate/       `migrate VERB`
"""
