"""What else in a repository speaks of v1 and breaks, or goes quiet, when the jobs have moved: code, rights, selectors, alerts,
policies, scripts. The jobs themselves are for `convert` and `inventory`.

files          which files there are, and their text
python_code    calls of the v1 SDK, by the syntax tree
notebooks      the same for the cells of Jupyter notebooks
manifests      objects of Kubernetes that name v1 kinds or select v1 pods
text           whatever a line of any file shows
network        settings of NCCL and EFA that do nothing or harm, before and after the move
scanning       all of it over a tree, in order

Tests are in tests/migrate/survey/scan: what each module but `files` finds is a case of cases.yaml, which says what it is about
("network settings of scripts"); test_scan.py reads them.
"""
