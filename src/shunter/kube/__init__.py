"""Talks to any Kubernetes API server, in client-go's architecture: reflector, indexed store, work queue, controller.

Knows no training API. The one thing to know before changing it: everything is level-triggered. A reconcile looks at what is,
never at what changed; any event may be lost, doubled or late.
"""
