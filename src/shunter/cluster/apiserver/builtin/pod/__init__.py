"""Defaults, rules and warnings of pods and pod templates.

rules.py, container_rules.py, volume_rules.py, field_refs.py    what is refused of a pod, its containers, volumes, downward API
security_rules.py    what is refused of security contexts
defaults.py, resources.py    defaults; requests by default and the QoS class
ephemeral.py, warnings.py    ephemeral containers; Warning headers

Tests: tests/vectors/cases/builtin-pods.yaml, pods-more.yaml, ephemeral-containers.yaml and pod-warnings.yaml; resources.py in
tests/cluster/apiserver/builtin/pod.
"""
