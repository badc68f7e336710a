"""Copies of jobs from which they can be made again: clean, one file an object, checked by the server, and never with a Secret."""
