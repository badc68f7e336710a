"""Files that the migration wrote itself, which a scan passes over."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.moving.test_planning import job, plan
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving.plan import text as text_of_plan
from shunter.migrate.options import Options
from shunter.migrate.survey import report as reports
from shunter.migrate.survey.report.contents import of_batch
from shunter.migrate.survey.scan.scanning import paths_below, scanned

SPEAKS = "kubectl get pytorchjobs  # of kubeflow.org/v1\n"
WRITTEN: dict[str, dict[str, str]] = {
    "a plan, and what is beside it": {
        "plan.yaml": text_of_plan(plan(job(suspend=True))),
        "plan.yaml.journal/x.jsonl": SPEAKS,
        "plan.yaml.definitions/pytorchjobs.kubeflow.org.yaml": SPEAKS,
        "plan.yaml.patches/a.yaml": SPEAKS,
    },
    "a journal elsewhere": {"j/x.jsonl": '{"number":1,"step":"create PyTorchJob a/b","phase":"done"}\n'},
    "a backup": {"b/index.yaml": "format: 1\ntool: shunter 0.1.0\n", "b/team/pytorchjobs.kubeflow.org/a.yaml": SPEAKS},
    "reports": {
        f"report.{form}": write(of_batch(converted([SourceObject(job(), "a.yaml")], Options()), ()))
        for form, write in reports.FORMS.items()
    },
}


@pytest.mark.integration
@pytest.mark.parametrize("written", WRITTEN.values(), ids=list(WRITTEN))
def test_what_the_migration_wrote_is_passed_over_and_nothing_beside_it(written: dict[str, str], tmp_path: Path) -> None:
    for name, content in {
        **written,
        "ours.sh": SPEAKS,
        "other.journal/x.sh": SPEAKS,
        "index.yaml": SPEAKS,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    found = scanned(paths_below([tmp_path]))
    assert {Path(finding.place.source).relative_to(tmp_path).as_posix() for finding in found.findings} == {
        "ours.sh", "other.journal/x.sh", "index.yaml",
    }  # fmt: skip
    assert found.own == len(written)
