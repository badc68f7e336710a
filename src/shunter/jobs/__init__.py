"""What a cluster, and the logs of its pods, say of a job: why it does not train, how far it is, what it saved, how it ended.

    job + pods + events + JobSets + Workloads --evidence--> why it does not train        (operator.causes decides)
    job + pods --training_pods--> the pods that train, by rank        pure
    job + JobSet + pods --pods_up--> how many ranks are up, of how many; of a mirrored job by its status        pure
    what a program reported --operator.training_progress--> steps, time left, warnings        pure; progress_text words them
    lines of logs --logs.progress, logs.metrics, logs.checkpoints--> the same without reports, metrics, checkpoints        pure
    job + pods + what logs tell --rank_states, differing_ranks, curves, timeline--> what a person looks at        pure
    curves --plot--> text; ages, condition_sentences: how long ago, and what a condition means
    watches --following--> a display, and how the job ended

    a name --finding--> the job that it means, and its pods        listing, description, job_view: all jobs, one job, one job live
    what failed --failures, failure_record, last_log_lines--> by whose fault, in whose words
    texts that leave the cluster --masking--> without credentials        pure

jobsets reads the JobSets of all. `shunter run` and its Python counterpart follow jobs by this, the migration reads runs by it.
Only deletion.py writes to a cluster.
"""
