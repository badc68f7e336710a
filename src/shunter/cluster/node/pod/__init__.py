"""One pod on this node: its containers from start to end, and the status that is written of them.

lifecycle.py    pure: which container starts, and when it starts again (CrashLoopBackOff)
worker.py       thin: does it
"""
