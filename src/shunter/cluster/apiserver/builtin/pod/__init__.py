"""Defaults, rules and warnings of pods and pod templates."""
