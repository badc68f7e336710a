"""Fetch a dataset or a model into a directory before training begins: the program of initializer containers.

    python -m shunter.initializers dataset|model [DIRECTORY]

settings.py       what the environment asks for: address, credentials, IGNORE_PATTERNS
hugging_face.py   hf://, and which files of a model come along without IGNORE_PATTERNS
s3.py             s3://: region, credentials, checksums of the store
web.py, local.py  https:// (redirects, digests, ETags) and file://; like hf:// and s3://, each decides whether what is there in
                  part is still of the same file
fetching.py       several files at once, attempts, and what lies on disk until all are complete (`.shunter-initializer`)
streams.py        a part completed from a stream; files.py: names of files, checksums
progress.py       lines about how far it is; reporting.py sends them to the status server
__main__.py       the last line of a fetch that fails, and its exit code

What to fetch, and with which credentials, is in the environment, as for Kubeflow Trainer's initializers. What is there already is
not fetched again, what was begun is resumed, every file is checked. Needs nothing of the cluster and, but for the errors, no
other package of ours.

Tests: tests/initializers; ENDPOINT and keys of s3 in test_s3.py, the last line of a failed fetch in that of its source.
"""
