"""Moves the jobs of a cluster by a plan that people read and edit: plan, apply, status, rollback, cleanup.

    plan      decisions about every v1 job              planning.py (pure) -> plan.py (the file)
    apply     plan + conversions -> steps -> writes     steps.py (pure), applying.py (the only code here that writes)
    journal   what was about to be written, and was     journal.py: a file that is synced, and ConfigMaps
    rollback  journal + what is there now -> steps back undo_steps.py (pure), rolling_back.py (writes), present.py (looks)
    cleanup   v1 jobs that may be deleted               cleanup_candidates.py, stand_ins.py (pure), past_runs.py (keeps runs)
    finalize  v1's definitions, last of all             v1_definitions.py (pure), remove_v1.py (writes)

Three promises hold everywhere: a training that has finished is never started again; none is lost, so each is there as a v1 job or
as a TrainJob after every write; and what somebody else looks after, or has changed since, is left alone and named.

Tests: tests/migrate/moving; the commands and their exit codes in tests/migrate/moving/test_commands.py.
"""
