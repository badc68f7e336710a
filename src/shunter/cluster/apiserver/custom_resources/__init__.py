"""CustomResourceDefinitions: their rules, their life, and the kinds that they define.

crd.py              validation and defaults of a CRD, and the kinds that it defines
crd_rules.py        what is refused of one, but for its schema (cluster/apiserver/schema/structure.py)
crd_lifecycle.py    established at once; terminating until its objects are gone

Tests: tests/cluster/apiserver/custom_resources; tests/vectors/cases/schema-definitions.yaml; crd.py and crd_rules.py in
tests/vectors/cases/schema-definitions.yaml and definitions.yaml.
"""
