"""Why a job does not train, hangs or failed: `shunter doctor`.

    evidence.py     what was read of one job, as one value that can be written to a directory and read back
    case.py         the same with what follows from it: ranks, endings, causes
    rules/          one module per rule, each pure: what it needs, its verdict, and what it must not claim
    diagnosing.py   evidence -> report: verdicts in order, and what could not be checked
    collecting.py   reads the API server; sampling.py takes stacks by exec; recorder.py: flight recorders
    live_diagnosis.py   all of these, for a job in a cluster

endings.py                        how containers ended; what log lines are: operator/program_logs
waiting.py, stacks.py             what each rank does by two samples of its stacks; stacks as values
left_early.py                     ranks that ended while others needed them
early.py                          ranks that rest, too soon after their start for a verdict
rank_texts.py                     where a rank stands, and in which call it waits, in words
rank_locations.py, launcher.py    which ranks are in which pod; whether the launcher of an MPI job is a node
job_lookup.py, jobsets.py         which job is meant; JobSets without a TrainJob
rights.py, debug_containers.py    the user's permissions; ephemeral containers with py-spy
redaction.py                      evidence without credentials (what counts as one is decided in api/secrets)
recording.py                      `--record` and `--from`
verdicts.py, text.py              the answer as values (`-o json`) with the exit code, and as text

`operator.causes` decides from API evidence why a job does not train; the K rules turn that into verdicts.

Tests: tests/doctor; recorded jobs with known causes in tests/doctor/corpus; sampling.py in tests/e2e/test_doctor.py; endings.py
and rank_texts.py in tests/doctor/rules, evidence.py in test_diagnosing.py there, live_diagnosis.py in test_collecting.py,
job_lookup.py in tests/e2e/test_doctor.py, left_early.py in the file
of the rule that uses it.
"""
