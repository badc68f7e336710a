"""Labels and annotations of jobs that are made from programs, and of the ConfigMaps that hold their code."""

PROGRAM = "shunter.dev/program"
"""Annotation of a job that was made from a program: what it runs."""
JOB_LABEL = "shunter.dev/job"
"""Of a ConfigMap: the job for which it was made first."""
CODE_LABEL = "shunter.dev/code"
"""Of a ConfigMap and of the jobs that use it: the short digest. A label has room for 63 characters, a sha256 has 64."""
DIGEST = "shunter.dev/code-sha256"
DIRECTORY = "shunter.dev/code-directory"
COMMIT = "shunter.dev/git-commit"
DIRTY = "shunter.dev/git-dirty"
SHORT = 10
"""Digits of a digest that stand in names and labels."""
