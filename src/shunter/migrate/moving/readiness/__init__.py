"""Whether a cluster is ready for v2.

gathering.py reads the facts once, checks/ judge them (pure, one check a file), assessment.py sums up (pure).
"""
