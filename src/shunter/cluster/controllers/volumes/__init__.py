"""Claims and volumes: binding, a provisioner of directories on this machine, protection of what is in use.

Rules of kube-controller-manager's persistent volume controllers (1.36); the provisioner behaves like local-path of kind.

claim_plan.py, matching.py       a claim: bound, to which volume, protected while in use
volume_plan.py, directories.py   a volume: its phase, whether it goes when released (reclaimPolicy); its directory goes then
controller.py, views.py          the I/O layer; what they read of claims, volumes and classes

Tests: tests/cluster/controllers/volumes; views in test_claim_plan.py and test_volume_plan.py there; controller.py in
tests/e2e/test_volumes.py.
"""
