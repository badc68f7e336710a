"""CustomResourceDefinitions of the kinds that the operator serves, and whether they are established.

generator.py       a CRD and its schema, from the types of api/training and api/trainer
custom_kinds.py    which kinds, and what their CRDs say beside the schema: names, columns, subresources
established.py     whether an API server serves a CRD's kinds yet

Tests: tests/api/crds; custom_kinds in test_generator.py there.
"""
