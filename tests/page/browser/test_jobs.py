"""The list of jobs in a real browser."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from page.browser import samples
from page.browser.chromium import Tab, logged_in
from page.browser.given import Given
from page.jobs import pytorch_job
from page.server import RunningPage
from shunter.page.wire import JobRow, Progress

pytestmark = [pytest.mark.integration, pytest.mark.browser]

Look = Callable[..., Tab]


def names(page: Page) -> list[str]:
    return page.locator("td.c-name a").all_inner_texts()


def test_failing_first_with_the_cause_without_a_click(look: Look) -> None:
    page = look().page
    rows = page.locator("tr.row")
    expect(rows.nth(0)).to_contain_text("rank 3: out of memory (15.9 of 16 GiB), exit code 137")
    assert [*dict.fromkeys(page.locator("td.c-state").all_inner_texts()[:5])] == ["Failed", "Restarting", "Waiting", "Running"]
    expect(page.get_by_role("button", name="Failed 1")).to_be_visible()
    expect(rows.filter(has_text="giant").locator(".c-ranks")).to_have_text("999/1,000")


def test_time_left_counts_from_the_report_and_an_old_report_has_its_age(look: Look, given: Given) -> None:
    now = time.time()
    old = Progress(position="step 41/100", percentage=41, ends=now - 240, reported=now - 570, stale_after=now - 420)
    fresh = Progress(position="step 57/100", percentage=57, ends=now + 7300, reported=now - 60, stale_after=now + 60)
    row = msgspec.structs.replace(samples.jobs(1)[0], state="Running", finished=0)
    rows = [msgspec.structs.replace(row, id=str(one.percentage), progress=one) for one in (old, fresh)]
    stopped = msgspec.structs.replace(old, position="step 63/100", percentage=63)
    rows.append(msgspec.structs.replace(row, id="63", state="Suspended", progress=stopped))
    given.rows["jobs"] = {"jobs": rows}
    shown = look().page.locator("tr.row .progress .text")
    expect(shown.filter(has_text="41 %")).to_have_text("41 %  0s left  9m ago")
    expect(shown.filter(has_text="57 %")).to_have_text("57 %  2h left")
    expect(shown.filter(has_text="63 %")).to_have_text("63 %")


def test_a_job_that_has_ended_ages_as_others_do(look: Look) -> None:
    rows = look().page.locator("tr.row")
    expect(rows.filter(has_text="bert-large").locator(".c-age")).to_have_text("12m")


def test_a_counter_filters_and_the_address_says_so(look: Look) -> None:
    page = look().page
    page.get_by_role("button", name="Waiting 1").click()
    expect(page.locator("tr.row")).to_have_count(1)
    assert page.url.endswith("/jobs?state=Waiting")
    page.reload()
    expect(page.locator("tr.row")).to_have_count(1)
    page.go_back()
    expect(page.locator("tr.row").nth(4)).to_be_visible()


def test_a_state_in_the_address_may_be_written_small(look: Look) -> None:
    page = look("/jobs?state=failed").page
    expect(page.locator("tr.row")).to_have_count(1)
    expect(page.locator("tr.row")).to_contain_text("Failed")


def test_search_narrows_counters_and_rows_and_stays_in_the_address(look: Look) -> None:
    page = look().page
    page.keyboard.press("/")
    page.keyboard.type("giant")
    expect(page.locator("tr.row")).to_have_count(1)
    expect(page.get_by_role("button", name="Running 1")).to_be_visible()
    assert page.url.endswith("?find=giant")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", name="Cluster")).to_be_visible()
    page.go_back()
    expect(page.locator("#search")).to_have_value("giant")


def test_sorting_by_a_column_is_told_to_screen_readers(look: Look) -> None:
    page = look().page
    page.get_by_role("button", name="Name", exact=True).click()
    expect(page.locator("th.c-name")).to_have_attribute("aria-sort", "ascending")
    found = names(page)
    assert found == sorted(found)
    page.locator("th.c-name button").click()
    expect(page.locator("th.c-name")).to_have_attribute("aria-sort", "descending")
    page.locator("th.c-name button").click()
    expect(page.locator("th[aria-sort]")).to_have_count(0)


def test_keys_walk_the_list_and_open_a_job(look: Look) -> None:
    page = look().page
    expect(page.locator("tr.row").first).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="bert-large")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    expect(page.get_by_role("link", name="gpt-small")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/nlp/PyTorchJob/gpt-small")
    page.go_back()
    expect(page.locator("tr.row").first).to_be_visible()


def test_the_list_and_its_jobs_have_a_command_line(look: Look) -> None:
    page = look("/jobs?state=Waiting&state=Failed&namespace=vision").page
    page.get_by_role("button", name="Copy as command").click()
    expect(page.locator("#toast")).to_have_text(re.compile(r"shunter jobs -n vision --state Created --state Failed$"))
    page.goto(f"{page.url.partition('?')[0]}?namespace=vision&namespace=nlp&state=Failed&find=bert")
    page.get_by_role("button", name="Copy as command").click()
    commands = "shunter jobs -n vision --state Failed; shunter jobs -n nlp --state Failed"
    expect(page.locator("#toast")).to_have_text(re.compile(rf"ithout the search: {commands}$"))
    page.goto(page.url.partition("?")[0])
    expect(page.locator("tr.row").first).to_be_visible()
    page.keyboard.press("c")
    expect(page.locator("#toast")).to_have_text(re.compile(r"shunter jobs$"))
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="bert-large")).to_be_focused()
    page.keyboard.press("c")
    expect(page.locator("#toast")).to_contain_text("kubectl get pytorchjob bert-large -n vision -o yaml")


def test_a_thousand_jobs_have_elements_for_those_in_view_only(look: Look, given: Given) -> None:
    given.rows["jobs"] = {"jobs": samples.jobs(1000)}
    page = look().page
    expect(page.get_by_role("heading", name="Jobs 1,000")).to_be_visible()
    assert page.locator("tr.row").count() < 100
    page.evaluate("() => scrollTo(0, document.body.scrollHeight)")
    expect(page.locator('tr[aria-rowindex="1001"]')).to_be_visible()
    assert page.locator("tr.row").count() < 100
    for _ in range(3):
        page.keyboard.press("j")
    expect(page.locator('tr[data-index="2"] a')).to_be_focused()


def test_back_leads_to_the_row_that_was_opened(look: Look, given: Given) -> None:
    given.rows["jobs"] = {"jobs": samples.jobs(500)}
    page = look().page
    page.evaluate("() => scrollTo(0, 9000)")
    link = page.get_by_role("link", name="bert-base-480", exact=True)
    link.click()
    expect(page.locator(".head")).to_be_visible()
    assert page.evaluate("() => scrollY") == 0
    page.go_back()
    expect(link).to_be_in_viewport()
    expect(link).to_be_focused()
    assert page.evaluate("() => scrollY") == 9000
    # The next row, not the first.
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/jobs/.+/.+/(?!bert-base-480)"))
    expect(page.locator(".head")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name="Jobs")).to_be_focused()
    assert page.evaluate("() => scrollY") == 0


def test_rows_come_change_and_go_while_one_looks(look: Look, given: Given) -> None:
    tab = look()
    rows = samples.first_jobs(2e9)
    given.rows["jobs"] = {"jobs": rows}
    expect(tab.page.locator("tr.row")).to_have_count(len(rows))
    given.rows["jobs"] = {"jobs": [msgspec.structs.replace(row, state="Succeeded") for row in rows[1:]]}
    expect(tab.page.get_by_role("button", name=f"Succeeded {len(rows) - 1}")).to_be_visible()
    expect(tab.page.get_by_text("bert-large")).to_have_count(0)


def test_no_jobs_yet_offers_a_command_that_runs_as_it_stands(look: Look, given: Given) -> None:
    given.rows["jobs"] = {"jobs": []}
    page = look().page
    expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
    command = page.locator("pre").first.inner_text()
    assert command.startswith("cat > hello.py <<'END'\n")
    assert command.endswith("shunter run hello.py --nodes 2")
    body = re.search(r"<<'END'\n(.*)\nEND\n", command, re.DOTALL)
    assert body is not None
    compile(body[1], "hello.py", "exec")


def test_no_jobs_of_a_namespace_is_not_no_jobs_at_all(look: Look, given: Given) -> None:
    given.rows["jobs"] = {"jobs": []}
    page = look("/jobs?namespace=vision").page
    expect(page.get_by_role("heading", name="No jobs yet in vision")).to_be_visible()
    assert page.locator("pre").first.inner_text().endswith("shunter run hello.py --nodes 2 -n vision")


def test_a_job_of_the_cluster_appears_runs_and_goes(browser: Browser, page: RunningPage, page_namespace: str) -> None:
    with logged_in(browser, page, f"/jobs?namespace={page_namespace}") as tab:
        expect(tab.page.get_by_role("heading", name="No jobs yet")).to_be_visible()
        page.cluster.apply(pytorch_job("bert", page_namespace))
        expect(tab.page.locator("tr.row.Running")).to_contain_text("bert")
        expect(tab.page.locator("td.c-ranks")).to_have_text("3/3")
        page.cluster.kubectl("delete", "pytorchjob", "bert", "-n", page_namespace, "--wait=false")
        expect(tab.page.get_by_role("heading", name="No jobs yet")).to_be_visible()


def test_every_state_has_a_shape_and_a_word(look: Look, given: Given) -> None:
    given.rows["jobs"] = {"jobs": samples.first_jobs(2e9)}
    page = look().page
    expect(page.locator("td .state")).to_have_count(6)
    shapes = page.locator("td .state").evaluate_all(
        """(states) => states.map((state) => {
          const shape = getComputedStyle(state, "::before");
          return [shape.borderRadius, shape.borderStyle, shape.transform, shape.backgroundImage, shape.backgroundColor].join();
        })"""
    )
    assert len({*shapes}) == 6
    assert {*page.locator("td .state").all_inner_texts()} == {row.state for row in _rows(given)}


def _rows(given: Given) -> list[JobRow]:
    return [row for row in given.rows["jobs"]["jobs"] if isinstance(row, JobRow)]
