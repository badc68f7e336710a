"""Talks to any Kubernetes API server, in client-go's architecture: reflector, indexed store, work queue, controller.

client.py, transport.py, http/    requests, and how they travel; retry.py: which are sent again; errors.py: refusals as exceptions
kubeconfig.py, credentials.py     where the server is, and the namespace of the context; who we are: tokens, certificates,
                                  exec plugins
cache/                            list and watch of a collection (reflector), the store, informers
controllers/                      queues, plans and their execution, leader election
watching.py                       the same for a few objects, without a cache
webhooks/, tls/                   admission webhooks; certificates
manifests.py, discovery.py        files of objects; which resource their kind is
merge_patch.py, json_patch.py     patches as values
pods/                             logs, and commands in containers
events.py, metrics.py, health.py, logs.py    what a process tells of itself

Knows no training API. The one thing to know before changing it: everything is level-triggered. A reconcile looks at what is,
never at what changed; any event may be lost, doubled or late.
"""
