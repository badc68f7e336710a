"""Moves the jobs of a cluster by a plan that people read and edit: plan, apply, status, rollback, cleanup.

    plan      decisions about every v1 job              gathering.py (reads), planning.py (pure) -> plan.py (the file)
              what becomes of each: create, move, wait,
              archive, source (Helm, GitOps), leave     planning.py
    apply     plan + conversions -> steps -> writes     run_plan.py: freeze.py, then waves; steps.py (pure), applying.py (writes)
              which jobs are refused: changed since...  plan_conversions.py (pure)
              whether a step is written                 step_decisions.py (pure); copies.py: jobs before they are deleted
              jobs that others manage                   source_patches.py: the text of the file that says what to change there
    journal   each write, before and after it is made   journal.py: a synced file, and ConfigMaps
    status    how far each job is                       plan_progress.py (pure)
    rollback  journal + current objects -> undo steps   rollback_decisions.py (pure), cluster_view.py (reads),
                                                        rolling_back.py (writes)
    cleanup   v1 jobs that may be deleted               cleanup_candidates.py, waiting_train_jobs.py, v1_origins.py (pure),
                                                        saved_runs.py (files), comparisons.py (verdicts on TrainJobs)
    finalize  v1's CRDs, last of all                    v1_crds.py (pure), remove_v1.py (writes)

annotations.py: those it writes. backup/, readiness/ and runs/ are `backup` and `restore`, `assess`, `compare` and `test`.

Three guarantees: a finished training is never started again; no training is lost (after every write each exists as a v1 job or as
a TrainJob); and objects that others manage, or have changed since, are not touched but reported.

Tests: tests/migrate/moving; steps, applying and copies in test_run_plan.py and test_journal.py there, waiting_train_jobs,
comparisons and saved_runs in test_to_zero.py; the commands, what they read (gathering) and their exit codes in
test_commands.py; annotations.py in test_run_plan.py, cluster_view.py in test_rolling_back.py.
"""
