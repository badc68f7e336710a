"""Claims and volumes: binding, a provisioner of directories on this machine, protection of what is in use.

Rules of kube-controller-manager's persistent volume controllers (1.36); the provisioner behaves like local-path of kind.
"""
