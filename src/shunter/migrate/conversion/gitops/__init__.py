"""Where manifests live: git, kustomize, Helm charts, Argo CD and Flux."""
