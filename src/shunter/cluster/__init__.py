"""The embedded cluster: enough of Kubernetes on one machine that kubectl, the SDKs and our operator work unmodified.

Three processes that meet only over HTTP: the API server, the operator, and the agent (built-in controllers, scheduler, node).
"""
