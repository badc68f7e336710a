"""Credentials in texts and objects, hidden where more people read them than may read the job.

names.py      which variables, options and fields hold a secret, by their names
masking.py    texts without credentials: by those names, in addresses, by the form of well-known tokens

Tests: tests/api/secrets.
"""
