"""Where checkpoints go and what of them is saved: directories, claims and buckets.

destinations.py           a text of `--checkpoints` -> claim, directory or URL
location.py               where the pods of a TrainJob save theirs
saved.py                  which checkpoints are complete, and the newest; torch_checkpoint.py: whether its files are whole
listing.py                `shunter checkpoints`, and why none is found
used_names.py             names of jobs that have checkpoints in a place, which a new job must not get
bucket_access.py          whether a job may use its bucket, asked before it is created
bucket_checkpoints.py     checkpoints in buckets

Tests: tests/launch/checkpoints; buckets in tests/recipes/test_buckets.py; bucket_access.py and bucket_checkpoints.py there.
"""
