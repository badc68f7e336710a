"""Options that verbs of `shunter migrate` share.

inputs.py           which jobs are read: files, a kustomize build, a Helm release, a cluster; cluster_input.py: the latter two
conversion.py       the flags that decide how jobs are converted
moving.py           verbs that write to a cluster: their flags, the plan and its journal, the question before a write
form.py             `-o`: a table or JSON

Tests: tests/cli/migrate.
"""
