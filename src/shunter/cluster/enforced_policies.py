"""How a node says on its Node object whether NetworkPolicies have an effect on its pods, and the API server reads it."""

from __future__ import annotations

ANNOTATION = "shunter.dev/network-policies"
"""`enforced`, or why they have none."""
ENFORCED = "enforced"
PROCESS_NODE = "shunter.dev/process"
"""The label of nodes that say it: those whose pods are processes. On others a network plugin may enforce policies."""
