"""From kubeflow.org/v1 to trainer.kubeflow.org/v1alpha1: what there is, what becomes of it, and the proof that it trains alike.

Floors, from the highest; each imports only those below it:

moving/       the jobs of a cluster: readiness, backup, plan, apply, rollback, and the comparison of runs
survey/       what there is of v1, for people: inventory, neighbours, scan, reports, briefing, explanations
proof/        how far a conversion is proved, from the text of the result to the pods of both sides
conversion/   from a v1 job, where it stands, to a TrainJob and its runtime, and their texts
pods/         the pods of both generations, made in memory     v1_texts/    what texts say of v1, line by line
findings, paths, options and the other modules here: what all of them use
"""
