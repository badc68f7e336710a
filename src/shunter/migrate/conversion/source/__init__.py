"""What is to be migrated, wherever it comes from, as source objects: a value, and the place of each field of it.

provider.py           what a run is given: files, directories, standard input, kustomize, Helm; what is skipped,
                      missing or in another encoding there
files.py, documents.py    a file; its YAML documents, each read by itself, aliases and bad ones included
yaml_nodes.py, objects.py, no_json.py    nodes with places; a source object; what YAML says and JSON cannot (what a scalar means,
                      `3.0` or `yes`, is decided in api/yaml.py)
size.py               refused: nesting and aliases of aliases without end
templates.py          which texts are Helm templates
live.py               the v1 jobs of a cluster; helm_release.py: what Helm keeps of a release
embedded.py           jobs within other objects: Katib, Argo, pipelines, scripts, values of charts
experiments.py        when a trial of Katib is over
kustomization.py      which files are patches; KUSTOMIZE008: a kustomization with patches that is not built
generators.py         ConfigMaps and Secrets that a kustomization generates
deployers.py          KUSTOMIZE007: patches in objects of Argo CD and Flux
versions.py           kinds of the same name in other API versions

Tests: tests/migrate/conversion/source; deployers.py and KUSTOMIZE008 in test_convert_overlays.py of
tests/migrate/conversion/gitops; size, no_json and aliases in test_documents.py there; input that is refused in
tests/scenarios/migrate/input; templates (helm-template*) and versions (version-before-v1, draft-version-of-v2) in
tests/scenarios/migrate/text; files.py in test_provider.py, kustomization.py in test_writing_order.py of
tests/migrate/conversion/gitops, objects.py in test_documents.py, yaml_nodes.py in test_embedded.py.
"""
