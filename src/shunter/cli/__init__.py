"""The `shunter` command, a module per verb group; no logic of its own.

main.py        the table of verbs; errors, with their own exit codes (shunter/errors.py)
run.py         `run`, and its exit code: of a program with program.py (what is said of its code), of manifests
following.py   a job that was started is followed to its end, or until --timeout; what is said then
target.py      which cluster a command talks to; its default namespace is told by shunter/kube/kubeconfig.py
options/       how options are declared and read; output/ how results are shown
migrate/       `migrate VERB`
"""
