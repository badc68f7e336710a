"""The pages of the report for people who decide: whole, linked, and saying what they should."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import PurePath

import pytest

from migrate.survey.briefing.given_jobs import NOW, ODD, TEXT, UNREAD, facts, job
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options
from shunter.migrate.survey.briefing import sdk_page
from shunter.migrate.survey.briefing.facts import gathered
from shunter.migrate.survey.briefing.front_page import LISTED_FAULTS
from shunter.migrate.survey.briefing.job_commands import commands
from shunter.migrate.survey.briefing.site import files
from shunter.migrate.survey.scan.references import findings_of
from shunter.migrate.survey.sdk_moves import COUNTERPARTS


def test_the_front_page_names_what_could_not_be_read() -> None:
    written = dict(files(facts([], faults=[ODD, UNREAD])))
    page, text = written[PurePath("index.html")], written[PurePath("index.md")]
    assert page.index("a&lt;b&gt;.yaml:3:1") < page.index("notes.yaml")
    assert "<img" not in page
    assert text.index("a\\<b\\>.yaml:3:1: **blocking** INPUT011") < text.index("notes.yaml:1:1: warning INPUT007")
    assert "<img" not in text.replace("\\<", "")


def test_of_very_many_faults_the_front_page_counts_the_rest() -> None:
    written = dict(files(facts([], faults=[ODD] * 100)))
    for name in ("index.html", "index.md"):
        assert written[PurePath(name)].count("INPUT007") == LISTED_FAULTS
        assert f"And {100 - LISTED_FAULTS} more" in written[PurePath(name)]


@pytest.fixture(scope="module")
def site() -> dict[PurePath, str]:
    references = findings_of("a.sh", "kubectl get pytorchjobs\n")
    sources = [job("a"), job("a"), job("b", "Always"), job("c", finished=True)]
    return dict(files(facts(sources, references=references, is_live=True)))


def test_every_page_is_whole_and_every_link_leads_to_a_page(site: dict[PurePath, str]) -> None:
    assert sum(path.parent == PurePath("jobs") for path in site) == 4
    for path, text in site.items():
        if path.suffix == ".html":
            page = _Page()
            page.feed(text)
            assert page.open == [], path
            assert "script" not in page.seen
            for link in page.links:
                target = path.parent / link
                assert PurePath(*(target.parts[2:] if ".." in target.parts else target.parts)) in site, (path, link)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_shows_both_manifests_with_their_comments(site: dict[PurePath, str]) -> None:
    page = site[PurePath("jobs/team-a-pytorchjob-a.html")]
    assert "kind: PyTorchJob" in page
    assert "kind: TrainJob" in page
    assert page.count("# pinned") == 2
    assert "&lt;train&gt;.py" in page


def test_a_page_says_what_to_type_next(site: dict[PurePath, str]) -> None:
    assert "shunter migrate test pytorchjob/a -n team-a" in site[PurePath("jobs/team-a-pytorchjob-a.html")]
    assert "do not run it again" in site[PurePath("jobs/team-a-pytorchjob-c.html")]
    assert "shunter migrate explain RESTART001" in site[PurePath("jobs/team-a-pytorchjob-b.html")]


@pytest.mark.parametrize(
    ("source", "given"),
    [
        ("jobs/a b.yaml", "-f 'jobs/a b.yaml'"),
        ("standard input", "-f -"),
        ("kustomize build overlays/prod", "-k overlays/prod"),
        ("helm release trainers", "--helm-release trainers -n team-a"),
    ],
)
def test_commands_name_the_input_as_it_was_named(source: str, given: str) -> None:
    (found,) = facts([SourceObject(job("a").value, source)]).jobs
    assert f"shunter migrate validate {given}" in commands(found, is_live=False)


def test_the_same_facts_give_the_same_bytes(site: dict[PurePath, str]) -> None:
    references = findings_of("a.sh", "kubectl get pytorchjobs\n")
    sources = [job("c", finished=True), job("b", "Always"), job("a"), job("a")]
    assert dict(files(facts(sources, references=references, is_live=True))) == site


def test_the_sdk_page_shows_every_call_with_code() -> None:
    page, text = sdk_page.html(), sdk_page.markdown()
    for counterpart in COUNTERPARTS:
        for call in counterpart.calls:
            assert call in page
            assert call in text
        assert counterpart.after.splitlines()[0] in text


def test_an_embedded_job_is_shown_alone_and_to_the_left() -> None:
    inner = "".join(f"    {line}\n" for line in TEXT.splitlines()[1:]).replace("POLICY", "Never")
    text = (
        f"apiVersion: kubeflow.org/v1beta1\nkind: Experiment\nmetadata: {{name: tune}}\nspec:\n  trialSpec:\n{inner}  other: 1\n"
    )
    (found,) = text_file(text, "tune.yaml").documents[0].embedded
    made = gathered(converted([found.job], Options()), {id(found.job): found.host.title}, NOW)
    assert made.jobs[0].before == "\n".join(TEXT.replace("POLICY", "Never").splitlines()[1:]) + "\n"
