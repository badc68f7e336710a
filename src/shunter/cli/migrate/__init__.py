"""`shunter migrate VERB`: a module per verb, without logic of its own. A verb is imported when it runs.

convert, validate, diff, explain, report, scan, inventory    of files or a cluster: migrate/conversion, proof, survey
assess, backup, restore, plan, apply, status, rollback, cleanup    of a cluster: migrate/moving; apply.py has `live-migrate`
trial.py          `test`; compare.py: `compare`, compare_plan.py with `--plan`; comparison_output.py: how comparisons are
                  shown, and their exit codes (5 different, 1 not comparable)
proving.py        which jobs `validate` and `diff` are about; cluster_stages.py: stages for which a cluster is asked
exit_codes.py     what the exit codes mean; saved_output.py: files of `-o json` read again
options/, findings/, trials/    shared options; findings on standard error; what `test` says of trials
demo.py           `demo`

Tests: tests/cli/migrate, `compare`, `test` and `demo` in test_runs.py there, exit codes of comparisons in
test_comparison_output.py; verbs for which a cluster is needed in tests/migrate/moving/test_commands.py and tests/e2e; apply.py,
backup.py, cleanup.py, compare_plan.py, plan.py, restore.py, rollback.py and status.py in the former, assess.py in
tests/e2e/test_migration_story.py, cluster_stages.py, exit_codes.py, proving.py and saved_output.py in test_validate.py,
trial.py in test_runs.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import typer
from typer.exceptions import TyperException

from shunter.api.collector import collect_seldom
from shunter.cli.migrate import exit_codes
from shunter.cli.options.lazy_group import Entry, LazyGroup
from shunter.errors import ShunterError


class Verbs(LazyGroup):
    """A group whose errors end with FAILED: all other codes say what was found (`exit_codes`). Those of `diff` are kubectl's,
    where 1 is a difference."""

    table: ClassVar[Mapping[str, Entry]] = {
        "compare": Entry("shunter.cli.migrate.compare", "compare", "Compare a run of a v1 job with a run of its TrainJob."),
        "convert": Entry("shunter.cli.migrate.convert", "convert", "Convert v1 jobs to TrainJobs and their runtimes."),
        "test": Entry("shunter.cli.migrate.trial", "trial", "Run a converted job beside its original and compare them."),
        "test-deploy": Entry("shunter.cli.migrate.trial", "trial", "Alias of test."),
        "inventory": Entry("shunter.cli.migrate.inventory", "inventory", "List v1 jobs and the effort to migrate each."),
        "scan": Entry("shunter.cli.migrate.scan", "scan", "Find other v1 references in a repository."),
        "validate": Entry("shunter.cli.migrate.validate", "validate", "Prove conversions, and report how far the proof reaches."),
        "diff": Entry("shunter.cli.migrate.diff", "diff", "Show how the pods differ, rank by rank."),
        "explain": Entry("shunter.cli.migrate.explain", "explain", "Explain a finding by its id, or a field of v1."),
        "assess": Entry("shunter.cli.migrate.assess", "assess", "Check whether a cluster is ready for v2."),
        "validate-readiness": Entry("shunter.cli.migrate.assess", "assess", "Alias of assess."),
        "backup": Entry("shunter.cli.migrate.backup", "backup", "Save all jobs of a cluster to a directory."),
        "restore": Entry("shunter.cli.migrate.restore", "restore", "Recreate objects from a backup."),
        "plan": Entry("shunter.cli.migrate.plan", "plan", "Plan the migration of a cluster's v1 jobs."),
        "apply": Entry("shunter.cli.migrate.apply", "apply", "Execute a migration plan."),
        "live-migrate": Entry("shunter.cli.migrate.apply", "live_migrate", "Plan and apply in one step."),
        "status": Entry("shunter.cli.migrate.status", "status", "Show the progress of a plan."),
        "rollback": Entry("shunter.cli.migrate.rollback", "rollback", "Undo what a plan did."),
        "cleanup": Entry("shunter.cli.migrate.cleanup", "cleanup", "Archive and delete v1 jobs that are no longer needed."),
        "report": Entry("shunter.cli.migrate.report", "report", "Write an HTML report: a summary page and a page per job."),
        "demo": Entry("shunter.cli.migrate.demo", "demo", "Migrate the example jobs on a temporary cluster."),
    }

    def invoke(self, context: Any) -> Any:
        """Raises the errors of the verb, with FAILED as exit code unless the verb is `diff`."""
        collect_seldom()
        try:
            return super().invoke(context)
        except (ShunterError, TyperException) as error:
            if context.invoked_subcommand != "diff":
                error.exit_code = exit_codes.FAILED
            raise


app = typer.Typer(
    name="migrate",
    cls=Verbs,
    help="Migrate training jobs from kubeflow.org/v1 to trainer.kubeflow.org/v1alpha1, and prove each conversion.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
