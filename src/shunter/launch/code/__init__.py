"""How a program's files reach its pods.

tree.py        the directory of a program as git knows it
files.py       which files travel: ignored ones and secrets stay behind
packing.py     the archive, the same for the same files, and how large it may be
delivery.py    mounted, packed into ConfigMaps, or in the image
stored.py      the ConfigMaps in a cluster: sent once, owned by the jobs that use them, removed afterwards

Tests: tests/launch/code; what is too large to be packed in test_tree.py there.
"""
