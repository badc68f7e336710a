"""Rows from texts."""

from __future__ import annotations

import json

from migrate.survey.inventory.rows import NOW, job
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.options import Options
from shunter.migrate.survey.inventory.collecting import insides, of_batch


def test_a_job_in_a_text_has_the_place_of_the_text() -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\ndata:\n  job: '{json.dumps(job())}'\n"
    given = Input((text_file(text, "x.yaml"),))
    (found,) = of_batch(converted([embedded.job for embedded in given.embedded], Options()), NOW, insides(given))
    assert (found.place, found.inside) == ("x.yaml:4:3", "ConfigMap *")
