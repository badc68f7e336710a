"""From a v1 job to a TrainJob and its runtime, and the texts that say them. Pure but for reading and writing files.

source/       files, standard input, clusters -> source objects, each value with its place
input_context.py      what else is in the input: ConfigMaps, Secrets, Services, jobs of the same name
base_names.py         the names that jobs ask for in v2
reading.py            a source object as v1's operator reads it; wrong types are refused by their field
unreadable.py         all fields of a job with wrong types, not the first alone
misspelt.py, newer_fields.py    fields that v1 does not have; fields of pods that are newer than v1
mpi_operator.py       MPIJobs of kubeflow.org/v2beta1
ledger.py             what became of each leaf of a source object
draft.py, rules/, kinds/    decisions: one rule a file, one v1 kind a file; templates.py: whether roles have the same pods;
                      rules/programs/: what programs do with host names, DNS or kubectl (findings HOST...);
                      rules/pytorch/: --torch-launch, nprocPerNode, elasticPolicy
commands/             what starts the training in a container; what shell or Python code makes of a host name (decides by it or
                      only shows it), /etc/hosts included; unread_code.py: code that no rule can read
compat_environment.py v1's variables for pods of v2, if no plugin of v2 sets what the program reads
one_job.py, batch.py  source object -> TrainJob and TrainingRuntime, rows and findings; many of them
versions.py           `--target-version`: fields that releases of Trainer lack
provenance.py, cleaning.py    where a result comes from; what of an object its user wrote
sharing/              runtimes that several jobs share
suppression.py        findings that migration.yaml suppresses
emit/                 the text of the result, with the comments and the layout of the source
gitops/               trees of manifests as they are kept: kustomize, Helm templates, Argo CD, git

Tests: tests/migrate/conversion, and of single fields tests/scenarios/migrate, a folder an area; base_names.py in
rules/test_names.py there, compat_environment.py, draft.py and templates.py in kinds/test_pytorch.py, input_context.py,
one_job.py and unreadable.py in test_batch.py, misspelt.py in gitops/test_helm.py, mpi_operator.py in rules/test_ssh.py,
provenance.py and versions.py in sharing/test_groups.py.
"""
