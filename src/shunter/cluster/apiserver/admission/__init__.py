"""Admission of a write: the built-in steps and the webhooks."""
