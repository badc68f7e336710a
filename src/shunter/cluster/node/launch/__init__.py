"""The launcher: a small process, started before any pod, that forks a supervisor for every container.

This package imports the standard library only, and little of it: a fork must be cheap, and the launcher is up in the time that
importing aiohttp alone would take. The agent talks to it through `..launcher`; they share the file layout in `attempt`.
"""
