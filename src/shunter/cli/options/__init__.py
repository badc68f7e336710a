"""How commands are declared: shared options, completion of their values, groups that import a command when it is called.

lazy_group.py   groups of commands, and the error for a mistyped verb; signatures.py: their help as data
command.py      a command, and its errors for wrong options; run_command.py: `run`, with the words after `--`
completion.py   values that the shell completes
job_list.py     which jobs `jobs` lists, and their order
log_options.py, program_options.py, size_options.py, job_argument.py, watch.py, option_groups.py    options of several commands

Tests: tests/cli/options; mistyped and missing options in tests/cli/test_wrong_flags.py, completion.py in
tests/e2e/test_completion.py, log_options.py in tests/kube/pods/test_log_reading.py; command.py in test_lazy_group.py,
option_groups.py and size_options.py in test_program_options.py, job_argument.py in tests/cli/test_delete.py, run_command.py in
tests/cli/test_run.py, watch.py in tests/e2e/test_top.py.
"""
