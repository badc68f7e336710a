"""The state of a job, from objects of the cluster and logs: why it does not train, its progress, checkpoints and end.

evidence.py               what is read for why a job does not train; operator/causes decides from it, also which kinds that could
                          not be read may hide a cause (`unread`; `?` in the column WHY is of cli/jobs.py)
lookup.py                 jobs of all kinds, but for those that the user may not list; the job of a name, and its pods
jobsets.py                how many pods the JobSets of all TrainJobs request, and how often all were recreated
listing.py                all jobs, a row each: cause, ranks that are up, progress, failures
description.py            one job, in full
job_view.py               one job, read repeatedly: `top`, `plot`
training_pods.py          the pods that train, by rank, and their containers
commands/                 what a container's command starts: shell text, wrappers, launchers and their options
pods_up.py                how many ranks are up, of how many; of a mirrored job by its status
rank_states.py            the state of each rank, with or without a pod
differing_ranks.py        which ranks differ from the others: state, restarts, pace, silence, a metric that is not finite
timeline.py               what happened to a job, in order
metrics.py, curves.py     what a process reported, and when; metrics as curves; plot.py: curves as text
progress_text.py          steps and time left as text, from reports (operator/training_progress.py) or logs
logs/                     the same without reports: progress, metrics and checkpoints by what programs print
failures.py               what failed, by failure_record.py (the operator's record) and last_log_lines.py (the program's log);
                          which failures only follow another (a lost peer) is decided in operator/diagnosis.py
following/                a job watched until its end, for a display
ages.py                   ages and durations as short text
condition_sentences.py    a change of a condition as a sentence
deletion.py               deletes a job with all that belongs to it; nothing else here writes to a cluster

What decides is pure; evidence, jobsets, job_view, last_log_lines, listing and lookup read. `shunter run`, its Python counterpart
and the migration use this package.

Tests: tests/jobs; deletion in tests/launch/test_deleting.py and tests/e2e/test_deleting.py.
"""
