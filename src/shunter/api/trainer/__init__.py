"""trainer.kubeflow.org/v1alpha1 types, and what admission refuses.

What only a plugin knows (ports, hosts, numbers of processes, names of its variables) is refused by operator/trainer/plugins.
"""
