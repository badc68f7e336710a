"""Controllers: work queue, workers, plans, their execution, leader election.

workqueue.py, fair_queue.py    each key once, back-off; namespaces take turns
controller.py                  workers that observe, plan, execute
plan.py, executor.py           everything one reconcile wants; the only code that writes
leader.py, fence.py            the Lease; no write by a former leader
manager.py                     one process: start, readiness, orderly stop

Tests: tests/kube/controllers, plan in test_executor.py there; metrics of reconciles (kube/metrics.py) in
tests/kube/test_metrics.py.
"""
