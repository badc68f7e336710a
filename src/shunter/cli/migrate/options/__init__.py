"""Options that verbs of `shunter migrate` share.

inputs.py           which jobs are read: files, a kustomize build, a Helm release, a cluster; cluster_input.py: the latter two
conversion.py       the flags that decide how jobs are converted
moving.py           verbs that write to a cluster: their flags, the plan and its journal, the question before a write
form.py             `-o`: a table or JSON

Tests: tests/cli/migrate; cluster_input.py in test_inputs.py of tests/cli/migrate/options, conversion.py and form.py in
tests/cli/migrate/test_convert.py, moving.py in tests/migrate/moving/test_commands.py.
"""
