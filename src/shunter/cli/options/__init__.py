"""How commands are declared: shared options, completion of their values, groups that import a command when it is called.

lazy_group.py   groups of commands
command.py      a command, and its errors for wrong options
completion.py   values that the shell completes
job_list.py     which jobs `jobs` lists, and their order

Tests: tests/cli/options; mistyped and missing options in tests/cli/test_wrong_flags.py.
"""
