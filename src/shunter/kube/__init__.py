"""Talks to any Kubernetes API server, in client-go's architecture: reflector, indexed store, work queue, controller.

client.py, transport.py, http/    requests, and how they travel; retry.py: which are sent again
answers.py                        what is asked for as an answer (only metadata, where a view has no more), and decoding it
measured_transport.py             limits on requests (`--kube-api-qps`), and counts of them
errors.py, refused_fields.py      refusals as exceptions; which fields they are about, and positions.py: in which line
server_clock.py                   the time by the server's clock, from its answers
served_fields.py, discovery.py    whether the server's schema has a field; which resource a kind is
kubeconfig.py, credentials.py     where the server is, and the namespace of the context; who we are: tokens, certificates,
                                  exec plugins
access.py, reviews.py, metrics_access.py    what we may do; whose a token is, and what they may; who may read /metrics
cache/                            list and watch of a collection (reflector), the store, informers
controllers/                      queues, plans and their execution, leader election
watching.py                       the same for a few objects, without a cache
webhooks/, tls/                   admission webhooks; certificates
manifests.py                      files of objects
merge_patch.py, json_patch.py     patches as values
pods/                             logs, and commands in containers
events.py                         Events: how many a second, series of equal ones, dropped ones
metrics.py                        every series of a process, by the names of controller-runtime, client-go and workqueue; some are
                                  there with 0 from the start
health.py, logs.py                its probes; its log

Knows no training API. The one thing to know before changing it: everything is level-triggered. A reconcile looks at what is,
never at what changed; any event may be lost, doubled or late.

Tests: tests/kube; metrics_access in tests/operator/test_process.py.
"""
