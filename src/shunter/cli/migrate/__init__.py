"""`shunter migrate VERB`: a module a verb; no logic of their own. Nothing heavy is imported before a verb runs."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from shunter.cli.migrate import (
    apply,
    assess,
    backup,
    cleanup,
    compare,
    convert,
    demo,
    diff,
    exit_codes,
    explain,
    inventory,
    plan,
    report,
    restore,
    rollback,
    scan,
    status,
    trial,
    validate,
)
from shunter.errors import ShunterError


class Verbs(TyperGroup):
    """Their errors end with FAILED: all other codes say what was found (`exit_codes`). Those of `diff` are kubectl's, where 1 is
    a difference."""

    def invoke(self, context: Any) -> Any:
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
app.command("compare", short_help="Compare a run of a v1 job with a run of its TrainJob.")(compare.compare)
app.command("convert", short_help="Convert v1 jobs to TrainJobs and their runtimes.")(convert.convert)
app.command("test", short_help="Run a converted job beside its original and compare them.")(trial.trial)
app.command("test-deploy", short_help="Alias of test.")(trial.trial)
app.command("inventory", short_help="List v1 jobs and the effort to migrate each.")(inventory.inventory)
app.command("scan", short_help="Find other v1 references in a repository.")(scan.scan)
app.command("validate", short_help="Prove conversions, and report how far the proof reaches.")(validate.validate)
app.command("diff", short_help="Show how the pods differ, rank by rank.")(diff.diff)
app.command("explain", short_help="Explain a finding by its id, or a field of v1.")(explain.explain)
app.command("assess", short_help="Check whether a cluster is ready for v2.")(assess.assess)
app.command("validate-readiness", short_help="Alias of assess.")(assess.assess)
app.command("backup", short_help="Save all jobs of a cluster to a directory.")(backup.backup)
app.command("restore", short_help="Recreate objects from a backup.")(restore.restore)
app.command("plan", short_help="Plan the migration of a cluster's v1 jobs.")(plan.plan)
app.command("apply", short_help="Execute a migration plan.")(apply.apply)
app.command("live-migrate", short_help="Plan and apply in one step.")(apply.live_migrate)
app.command("status", short_help="Show the progress of a plan.")(status.status)
app.command("rollback", short_help="Undo what a plan did.")(rollback.rollback)
app.command("cleanup", short_help="Archive and delete v1 jobs that are no longer needed.")(cleanup.cleanup)
app.command("report", short_help="Write an HTML report: a summary page and a page per job.")(report.report)
app.command("demo", short_help="Migrate the example jobs on a temporary cluster.")(demo.demo)
