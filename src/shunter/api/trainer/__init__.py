"""trainer.kubeflow.org/v1alpha1 types, and what admission refuses.

trainjob.py, runtime.py, patches.py         the types and their schemas
validation.py, torch_validation.py          what is refused of a TrainJob and its runtimePatches, and of one for torch
runtime_validation.py                       what is refused of a runtime

What only a plugin knows (ports, hosts, numbers of processes, names of its variables) is refused by operator/trainer/plugins;
running jobs, and how runtimePatches are merged, are decided in operator/trainer.
"""
