"""The horizontal pod autoscaler for metrics of type Resource and ContainerResource.

Rules, conditions and words of kube-controller-manager 1.36, `pkg/controller/podautoscaler`. Each rule is a pure function; the
I/O layer asks for scales and metrics, and keeps what was recommended before.

plan.py         one reconcile: its conditions, events and the new number
controller.py   the I/O layer: every autoscaler each period; views.py: what it reads
proposals.py    what each metric asks for; calculation.py: how many replicas a use of a resource is
limits.py       how far and how fast: bounds, policies, stabilization windows

Tests: tests/cluster/controllers/autoscaling; proposals in test_plan.py there; views.py in test_calculation.py, controller.py in
tests/vectors/cases/controllers.yaml.
"""
