"""Where manifests live: git, kustomize, Helm charts, Argo CD and Flux.

overlays.py             how a tree of kustomizations is converted, and why so; overlay_conversion.py does it
overlay_topics.py       the findings about kustomizations that are converted, and their patches; KUSTOMIZE008, about those that
                        are not built, is in migrate/conversion/source/kustomization.py, KUSTOMIZE007 in
                        migrate/conversion/source/deployers.py
kustomize.py, copies.py, selection.py    what a directory builds, also in parts; which objects a patch selects
replacements.py         replacements that name v1 jobs
editing.py              small changes to a kustomization's text
helm.py                 templates of charts, and what of them is refused (HELM002)
helm_values.py          counts that become sums; what else of the result depends on expressions
chart_values.py         programs among a chart's values
overlay_check.py        whether the converted kustomization builds what the built one converts to
argo.py, writing_order.py    sync waves; in which order files are written
tree_copy.py, worktree.py    the converted copy of a tree; what git knows of it

Tests: tests/migrate/conversion/gitops; overlay_conversion.py, selection.py, copies.py and kustomize.py in test_overlays.py
there, helm_values.py in test_helm.py, the command over whole trees (KUSTOMIZE008) in test_convert_overlays.py;
overlay_topics.py in test_writing_order.py.
"""
