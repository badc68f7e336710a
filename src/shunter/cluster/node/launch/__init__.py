"""The launcher: a small process, started before any pod, that forks a supervisor for every container.

This package imports the standard library only, and little of it: a fork must be cheap, and so must its start. The agent talks to
it through `..launcher`; they share the file layout in `attempt`.
"""
