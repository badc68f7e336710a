"""From kubeflow.org/v1 to trainer.kubeflow.org/v1alpha1: what there is, what becomes of it, and the proof that it trains alike.

From Python: `from shunter import migrate; migrate.convert(...)`. Layers, from the highest; each imports only those below it:

use_cases/    what the commands do, as functions: options in, a result out
moving/       the jobs of a cluster: readiness, backup, plan, apply, rollback, and the comparison of runs
survey/       what there is of v1, for people: inventory, neighbours, scan, reports, briefing, explanations
proof/        how far a conversion is proved, from the text of the result to the pods of both sides
conversion/   from a v1 job, where it stands, to a TrainJob and its runtime, and their texts
pods/         the pods of both generations, made in memory
v1_texts/     patterns by which one line shows v1, shared by scan and conversion; what a program does with host names, DNS or
              kubectl (findings HOST...) is reported in conversion/rules/programs, how its code is read is in conversion/commands

findings, catalogue, grouping, excerpts    topics and findings; all topics; equal ones together; how much of a text is shown
options, paths        what a user decides of a conversion; places of values
parallel, writing     several processes; files that are either old or new
own_files, run_verdicts    files of ours that scans pass over; verdicts of comparisons

Tests: tests/migrate, findings in test_grouping.py and test_catalogue.py there, own_files in moving/test_plan.py, run_verdicts in
proof/stages/test_runs.py; whole conversions, a case a file, in tests/scenarios/migrate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.lazy_names import lazy_names

if TYPE_CHECKING:
    from shunter.migrate.moving.planning import PlanOptions
    from shunter.migrate.options import Options
    from shunter.migrate.use_cases.apply import apply
    from shunter.migrate.use_cases.compare import compare
    from shunter.migrate.use_cases.convert import ConvertedTree, convert
    from shunter.migrate.use_cases.plan import plan
    from shunter.migrate.use_cases.validate import validate

__all__ = ["ConvertedTree", "Options", "PlanOptions", "apply", "compare", "convert", "plan", "validate"]
# Who converts a file needs neither a client nor the proof.
__getattr__ = lazy_names(
    __name__,
    {
        "ConvertedTree": "use_cases.convert",
        "Options": "options",
        "PlanOptions": "moving.planning",
        **{name: f"use_cases.{name}" for name in ("apply", "compare", "convert", "plan", "validate")},
    },
)
