"""Moves the jobs of a cluster by a plan that people read and edit: plan, apply, status, rollback, cleanup.

    plan      decisions about every v1 job              planning.py (pure) -> plan.py (the file)
    apply     plan + conversions -> steps -> writes     steps.py (pure), applying.py (writes)
    journal   each write, before and after it is made   journal.py: a synced file, and ConfigMaps
    rollback  journal + current objects -> undo steps   undo_steps.py (pure), cluster_view.py (reads), rolling_back.py (writes)
    cleanup   v1 jobs that may be deleted               cleanup_candidates.py, waiting_train_jobs.py (pure), saved_runs.py (files)
    finalize  v1's definitions, last of all             v1_definitions.py (pure), remove_v1.py (writes)

Three guarantees: a finished training is never started again; no training is lost (after every write each exists as a v1 job or as
a TrainJob); and objects that others manage, or have changed since, are not touched but reported.

Tests: tests/migrate/moving; the commands and their exit codes in tests/migrate/moving/test_commands.py.
"""
