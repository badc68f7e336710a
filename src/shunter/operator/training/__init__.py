"""kubeflow.org/v1: one engine for all job kinds, a module per framework.

`plan.py` reads like the life of a job; each rule of it has a file of its own. Shared code never asks which kind it has: it asks
the `Framework`. A further kind is a module in `frameworks/` and a line in its table. What a job says
while an object that it needs (PodGroup, HorizontalPodAutoscaler) is refused is in `prerequisites.py`.
"""
