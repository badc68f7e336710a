"""What else in a repository speaks of v1 and breaks, or goes quiet, when the jobs have moved: code, rights, selectors, alerts,
policies, scripts. The jobs themselves are for `convert` and `inventory`.

scanning.py           all of it over a tree, in order
files.py              which files there are, and their text; own_files.py: those that the migration wrote, which are skipped
references.py         what is found in one file; what a line of any file shows: migrate/v1_texts/rules.py
python_code.py        calls of the v1 SDK, by the syntax tree; suggested_calls.py: the call of v2's in their place
notebooks.py          the same for the cells of Jupyter notebooks
manifests.py          objects of Kubernetes that name v1 kinds or select v1 pods
network.py            settings of NCCL and EFA that do nothing or harm, before and after the move

Tests: tests/migrate/survey/scan; what python_code, manifests, network and references find in cases.yaml there, a case a file
that says what it is about ("network settings of scripts"), which test_scan.py reads; scanning.py in test_files.py.
"""
