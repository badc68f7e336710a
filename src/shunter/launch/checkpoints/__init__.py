"""Where checkpoints go and what of them is saved: directories, claims and buckets. Tests: tests/launch/checkpoints/, and
tests/recipes/test_buckets.py for buckets."""
