"""The API types we serve or read, with their defaults and validation. Values only: nothing here does I/O.

training/, trainer/            the kinds that the operator serves; crds/: their CRDs, by the markers of openapi.py
resources.py                   every kind that is read or written
meta.py, core.py, batch.py, apps.py, policy.py, jobset.py    views of them
names.py, selectors.py, yaml.py, formats/    texts: names, label selectors, YAML; durations, quantities and other values
field_errors.py, shapes.py     what is said of a wrong field; of JSON that has not the types that code relies on
ownership.py                   who manages an object beside its users: owners, Helm, Argo CD, Flux
rank_failures.py               `status.rankFailures`: what failed of a job, after its pods are gone
strategic_merge.py             strategic merge patch, for API server and operator
scheduling/                    what schedulers and queues read
secrets/                       what counts as a credential, and texts without them
pod_security.py, network_policies.py, program_start.py, viewers.py    what several packages must decide alike
titles.py, paths.py, grouping.py    names of objects in sentences; the value at a path; lists in groups
collector.py, late_patterns.py      why commands start fast: garbage collection, regular expressions compiled when asked

Tests: tests/api; strategic_merge in tests/cluster/apiserver/patch/test_strategic.py, openapi in tests/api/crds, field_errors in
tests/api/training and tests/api/trainer, rank_failures in tests/operator/test_rank_failures.py; views (apps, batch, jobset,
policy) in those of the controllers that decide on them; resources.py in tests/api/crds/test_generator.py.
"""
