"""Fetch a dataset or a model into a directory before training begins: the program of initializer containers.

    python -m shunter.initializers dataset|model [DIRECTORY]

settings.py       what the environment asks for: address, credentials, IGNORE_PATTERNS
hugging_face.py   hf://, and which files of a model come along without IGNORE_PATTERNS
s3.py             s3://: region, credentials, checksums of the store
web.py, local.py  https:// (redirects, digests, ETags) and file://
fetching.py       several files at once, each checked before it gets its name; files.py, streams.py: checksums, resuming
progress.py       lines about how far it is; reporting.py sends them to the status server
__main__.py       the last line of a fetch that fails, and its exit code

What to fetch and as whom is told by the environment, as Kubeflow Trainer's initializers are told. What is there already is
not fetched again, what was begun is resumed, every file is checked. Needs nothing of the cluster and, but for the errors, no
other room of this package.

Tests: tests/initializers; `files` in test_local.py, what is unfinished on disk (`.shunter-initializer`) in test_fetching.py,
ENDPOINT and keys of s3 in test_s3.py.
"""
