"""What the controllers of ReplicaSets, Deployments, StatefulSets and DaemonSets share: whose an object is, the pod of a template,
when a pod counts as available, shares of a number, the hash of a template, and its revisions."""
