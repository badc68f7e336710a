"""The controller of ResourceQuotas: what of them is used, in their status.

plan.py          one reconcile: the limits of a quota, and what is used of them
controller.py    the I/O layer: every quota each second, with the objects that it counts

The API server counts by itself before it lets an object in, so the status may lag behind and nothing is let through by that.

Tests: tests/cluster/controllers/quota; on a cluster in tests/e2e/test_workloads.py; controller.py there.
"""
