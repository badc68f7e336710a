"""The embedded API server. Kinds are data (`kinds.Kind`: schema and strategy), never code paths.

__main__.py, process.py      the process: its socket, then the server; storage, servers and watches until SIGTERM
requests.py                  a request as a value: user, verb, target, options; older watch paths; resourceVersions as numbers
server.py, negotiation.py    the HTTP front, which decides nothing else; forms of bodies and answers
reads.py, watch.py           GET, LIST and WATCH; selectors.py: label and field selectors (which fields a kind lets select, and
                             what an absent one counts as, is in the kind's module of builtin/)
writes.py                    create, update, patch, status: preconditions, generation, what a write cannot change; names are
                             generated after mutating admission, whose webhooks see none
apply/, patch/               server-side apply and who owns which field; the other forms of patches
deletion.py                  finalizers, grace periods, propagation
decoding.py                  from a body to an object of its kind: unknown fields, defaults
object_meta.py               rules of metadata: names, labels, owners; field_rules.py: what several kinds share
admission/, auth/            LimitRanges, quotas, policies, webhooks; users, roles, tokens
builtin/, schema/            the built-in kinds and their rules; schemas of all kinds
custom_resources/            CustomResourceDefinitions
subresources/                scale, binding, eviction, logs, exec
storage/                     the state, in memory and on disk
kinds.py, packaged_schemas.py    a kind as data; the packaged schemas of built-in kinds and our CRDs
registry.py, discovery.py    what is served, and how clients learn it; openapi.py; version.py: which Kubernetes this is
bootstrap.py, backend.py     what a fresh cluster holds; what every request works on: store, kinds, webhooks, clock,
                             namespaces that are there and not terminating
event_versions.py            Events in core/v1 and events.k8s.io/v1
metrics.py                   /metrics: counts of requests; resource_metrics.py: metrics.k8s.io, for `kubectl top`
printers/                    what `kubectl get` shows
status.py                    refusals in kube-apiserver's words

Tests: tests/cluster/apiserver; requests and the answers of a real kube-apiserver in tests/vectors/cases, those of watches in
watch.yaml and watch-paths.yaml, of resourceVersions in resource-versions.yaml, of deletions in deletion.yaml, of field
selectors in field-selectors.yaml, of sequences of requests (a namespace that terminates) in stories.yaml there; bootstrap.py in
test_process.py there, metrics.py, openapi.py and version.py in test_discovery.py, resource_metrics.py by `kubectl top` in
tests/kubectl/commands.yaml, decoding.py in test_writes.py, status.py in test_negotiation.py, event_versions.py in
tests/cluster/apiserver/builtin/test_events.py, field_rules.py in tests/cluster/apiserver/builtin/rules, kinds.py and
registry.py in tests/cluster/apiserver/builtin/test_recorded_kinds.py.
"""
