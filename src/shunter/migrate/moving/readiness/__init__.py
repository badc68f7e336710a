"""Whether a cluster is ready for v2.

gathering.py reads the facts once, checks/ evaluates them (pure, one check a file), assessment.py summarizes (pure).
"""
