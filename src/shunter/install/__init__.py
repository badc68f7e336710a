"""Installing the operator: the objects of an installation, decided in one place, and applying them to a cluster.

values.py       what can be set (the chart's values), and its defaults, such as the operator's replicas and resources
template.py     objects with holes and conditions: filled in here, or written as a Helm chart by scripts/generate.py
manifests.py    the template of the installation, and `manifests(values)`
workload.py, webhooks.py    Deployment and what stands around it; webhook configurations
rbac.py         roles; which verbs the operator's has: operator/permissions.py, shown by tests/conformance/test_permissions.py
ui.py           the web page; monitoring.py, alerts.py, dashboard.py, expressions.py: Prometheus and Grafana
kinds.py, names.py, objects.py, resources.py    kinds that are off; names and labels; how objects are made
changes.py      pure: what is written, left alone, pruned, and what `uninstall` removes and keeps
preflight.py    pure: what speaks against installing
installing.py   thin: asks preflight, applies, prunes; waiting.py waits for the pods
removing.py     thin: `uninstall` removes, and refuses CRDs that still have jobs

Tests: tests/install; what the objects are in test_chart.py and test_kustomize.py there; alerts.py and expressions.py in
test_dashboard.py, manifests.py, monitoring.py, names.py, rbac.py, template.py, webhooks.py and workload.py by these objects,
resources.py in test_installing.py.
"""
