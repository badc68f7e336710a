"""trainer.kubeflow.org/v1alpha1 types, and what admission refuses.

trainjob.py, runtime.py, patches.py         the types and their schemas; which fields of a TrainJob may change after its creation
                                            (CEL rules: numNodes only while it is suspended) in trainjob.py
validation.py, torch_validation.py          what is refused of a TrainJob and its runtimePatches, and of one for torch
torchtune.py                                which models and settings of torchtune go together
runtime_validation.py                       what is refused of a runtime; template.py: its JobSet template, read
retired.py                                  fields of earlier releases, refused with their successor
public_version.py                           the object by which clients see Trainer's version

What only a plugin knows (ports, hosts, numbers of processes, names of its variables) is refused by operator/trainer/plugins;
running jobs, and how runtimePatches are merged, are decided in operator/trainer.

Tests: tests/api/trainer; schemas and CEL rules in tests/api/crds/test_generator.py; patches.py, trainjob.py and
torch_validation.py in test_validation.py there, runtime.py in test_runtime_validation.py, retired.py in
tests/api/crds/test_generator.py, public_version.py in tests/e2e/test_sdk_v2.py.
"""
