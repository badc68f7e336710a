"""What the command of a container starts: `launchers_in(words)`, read from its words alone. Pure.

shell_words, shell, shells    shell text as commands and words, each with its place; `bash -c TEXT`
arguments             options of a program
wrappers              programs that start another one: `nohup`, `env`, `uv run`
launcher_options      torchrun, accelerate, deepspeed, mpirun, horovodrun: their names, and their options that take values
launchers             one command: which launcher it is, or plain python
launches              all launchers that a container's words start, for `scale` and the doctor

The migration reads commands by the same modules, with their variables and files (migrate/conversion/commands).

Tests: tests/jobs/commands; shell_words.py in test_shell.py, launcher_options.py in test_launches.py there, launchers.py in
tests/migrate/conversion/commands/test_understanding.py. That the migration sees the same launchers is in test_launches_agree.py
there.
"""
