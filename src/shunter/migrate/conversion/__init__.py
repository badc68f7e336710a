"""From a v1 job to a TrainJob and its runtime, and the texts that say them. Pure but for reading and writing files.

source/       files, standard input, clusters -> source objects, each value with its place
input_context  what else is in the input: ConfigMaps, Secrets, Services, jobs of the same name
base_names     the names that jobs ask for in v2
reading       a source object as v1's operator reads it; wrong types are refused by their field
ledger        what became of each leaf of a source object
draft, rules/, kinds/    decisions: one rule a file, one v1 kind a file
launch/       what starts the training in a container: launchers, shell texts, scripts in ConfigMaps
compat_environment  v1's variables for pods of v2, where no plugin of v2 tells what the program reads
one_job       source object -> TrainJob and TrainingRuntime, rows and findings
batch         many of them
sharing/      runtimes that several jobs share
suppression   findings that migration.yaml suppresses
emit/         the text of the result, with the comments and the layout of the source
gitops/       trees of manifests as they are kept: kustomize, Helm templates, Argo CD, git
"""
