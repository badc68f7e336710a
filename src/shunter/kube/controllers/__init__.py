"""Controllers: work queue, workers, plans, their execution, leader election.

workqueue.py                   each key once, back-off; no namespace has all workers (`max_per_namespace`, which manager.py sets);
                               a postponed key (a first status in a burst) lets others go first, for 5 s at most
fair_queue.py                  the turns of namespaces, for keys and for requests
controller.py                  workers that observe, plan, execute; what they postpone in a burst
plan.py, executor.py           everything one reconcile wants, and the 0.2 s for which first statuses of Jobs wait
                               (`status_after`, less where other keys wait); the only code that writes
leader.py, fence.py            the Lease; no write by a former leader
manager.py                     one process: start, readiness, orderly stop

Tests: tests/kube/controllers, plan in test_executor.py there, the free worker in test_workqueue.py, requests of large jobs in
test_fence.py; metrics of reconciles (kube/metrics.py) in tests/kube/test_metrics.py.
"""
