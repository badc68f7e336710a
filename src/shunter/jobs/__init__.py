"""The state of a job, from objects of the cluster and logs: why it does not train, its progress, checkpoints and end.

    job + pods + events + JobSets + Workloads --evidence--> why it does not train        (operator.causes decides)
    job + pods --training_pods--> the pods that train, by rank        pure
    job + JobSet + pods --pods_up--> how many ranks are up, of how many; of a mirrored job by its status        pure
    reports of a program --operator.training_progress--> steps, time left, warnings        pure; progress_text: as text
    lines of logs --logs.progress, logs.metrics, logs.checkpoints--> the same without reports, metrics, checkpoints        pure
    job + pods + logs --rank_states, differing_ranks, curves, timeline--> what `describe`, `top` and the page show        pure
    curves --plot--> text; ages, condition_sentences: ages and conditions as text
    watches --following--> a display, and how the job ended

    a name --finding--> the job of this name, and its pods        listing, description, job_view: all jobs, one job, one job live
    failed pods --failures, failure_record, last_log_lines--> the likely cause, with the last log lines
    texts that leave the cluster --masking--> without credentials        pure

jobsets reads the JobSets of all jobs. `shunter run`, its Python counterpart and the migration use this package.
Only deletion.py writes to a cluster.
"""
