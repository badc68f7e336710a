"""The horizontal pod autoscaler for metrics of type Resource and ContainerResource.

Rules, conditions and words of kube-controller-manager 1.36, `pkg/controller/podautoscaler`. Each rule is a pure function; the
shell asks for scales and metrics, and keeps what was recommended before.
"""
