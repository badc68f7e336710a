"""TrainingRuntimes of programs.

choice.py      which runtime a program starts from, and what starts a program there
copies.py      a copy for what no patch of a TrainJob can carry
creation.py    what `shunter runtime create` makes
stored.py      the runtime of one job in a cluster: made before it, owned by it, removed when it is left behind

Tests: tests/launch/runtimes.
"""
