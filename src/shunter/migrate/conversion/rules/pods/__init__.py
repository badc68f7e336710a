"""Rules about pod templates.

pod_template.py        copies of the source's templates, first of all
containers.py          the container that trains is called `node`, and what names it
init_containers.py     init containers of v1's operator
environment.py         variables: those of v1, then the user's; downward.py: fieldRefs to labels of v1
placement.py           affinities and spread constraints that select v1's labels
pod_metadata.py        labels and annotations; written_metadata.py: those that Kueue or v1's operator wrote
network.py             hostname, subdomain, hostNetwork, ndots
pod_deadline.py        activeDeadlineSeconds of a template
repeated_entries.py    hostAliases and imagePullSecrets that stand twice

Tests: tests/scenarios/migrate/pod-template, environment, metadata, and input for `repeated_entries`; of ndots in
tests/migrate/conversion/rules/pods.
"""
