"""Defaults, rules and warnings of pods and pod templates.

rules.py, container_rules.py, volume_rules.py, field_refs.py    what is refused of a pod, its containers, volumes, downward API
security_rules.py    what is refused of security contexts
placement_rules.py, label_keys.py    what is refused of where it runs; the pod's own labels in selectors
device_rules.py, file_keys.py    what is refused of block devices, and of variables from files
pod_level_resources.py, operating_systems.py    of resources of the whole pod, and of fields of other systems
resource_claims.py    of its claims of devices
gated_fields.py    what is dropped of new objects, as its feature is off
defaults.py, resources.py    defaults; requests by default and the QoS class
ephemeral.py, warnings.py    ephemeral containers; Warning headers

Tests: tests/vectors/cases/builtin-pods.yaml, gated-fields.yaml, pod-fields.yaml, pod-keys-and-devices.yaml, refused-fields.yaml,
ephemeral-containers.yaml and pod-warnings.yaml; resources.py in tests/cluster/apiserver/builtin/pod; rules.py, defaults.py,
container_rules.py, volume_rules.py and security_rules.py in builtin-pods.yaml and refused-fields.yaml, operating_systems.py in
refused-fields.yaml, field_refs.py and pod_level_resources.py in pod-fields.yaml, file_keys.py, device_rules.py and
resource_claims.py in pod-keys-and-devices.yaml, placement_rules.py and label_keys.py in
tests/vectors/cases/spread-constraints.yaml.
"""
