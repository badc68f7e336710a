"""From kubeflow.org/v1 to trainer.kubeflow.org/v1alpha1: what there is, what becomes of it, and the proof that it trains alike.

source/       files, standard input, clusters -> source objects, each value with its place
surroundings  what else is in the input: ConfigMaps, Services, jobs of the same name
stems         the names that jobs ask for in v2
reading       a source object as v1's operator reads it; wrong types are refused by their field
findings      what a user is told; ids never change
ledger        what became of each leaf of a source object
draft, rules/, kinds/    decisions: one rule a file, one v1 kind a file
launch/       what starts the training in a container: launchers, shell texts, scripts in ConfigMaps
shims         v1's variables for pods of v2, where no plugin of v2 tells what the program reads
conversion    source object -> TrainJob and TrainingRuntime, rows and findings
emit/         the text of the result, with the comments and the layout of the source
gitops/       trees of manifests as they are kept: kustomize, Helm templates, Argo CD, git
proof/        the pods of both sides, rank by rank
inventory/    every job with the work that it is, and all of them together
scan/         what else in a repository speaks of v1
suppression   findings that people have taken on, in migration.yaml
report/       findings as files, in five forms; briefing/ the pages for people who decide
explaining/   topics and fields in words
"""
