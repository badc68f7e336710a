"""Controllers: work queue, workers, plans, their execution, leader election.

workqueue.py                   each key once, back-off; no namespace has all workers (`max_per_namespace`, which manager.py sets)
fair_queue.py                  the turns of namespaces, for keys and for requests
controller.py                  workers that observe, plan, execute; a status does not wait while other keys do
plan.py, executor.py           everything one reconcile wants, and how long its first status waits; the only code that writes
leader.py, fence.py            the Lease; no write by a former leader
manager.py                     one process: start, readiness, orderly stop

Tests: tests/kube/controllers, plan in test_executor.py there, the free worker in test_workqueue.py, requests of large jobs in
test_fence.py; metrics of reconciles (kube/metrics.py) in
tests/kube/test_metrics.py.
"""
