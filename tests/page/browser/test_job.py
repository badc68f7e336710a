"""The view of a job in a real browser: why, which rank, curve, log, actions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, expect

from e2e.running_cluster import eventually
from page.browser import samples
from page.browser.chromium import Tab, logged_in
from page.browser.given import FAULT, Given
from page.server import RunningPage
from shunter.kube.errors import Conflict, Status
from shunter.page.wire import JobDetail, LogLines, Progress, Rank, SeriesRow

pytestmark = [pytest.mark.integration, pytest.mark.browser]

Look = Callable[..., Tab]
BERT = "/jobs/vision/PyTorchJob/bert-large"


def detail(given: Given) -> JobDetail:
    row = given.rows["job"]["job"][0]
    assert isinstance(row, JobDetail)
    return row


def change(given: Given, **fields: Any) -> None:
    given.rows["job"] = {**given.rows["job"], "job": [msgspec.structs.replace(detail(given), **fields)]}


def test_the_diagnosis_stands_first_with_evidence_and_remedy(look: Look) -> None:
    page = look(BERT).page
    verdict = page.get_by_role("region", name="Diagnosis")
    expect(verdict).to_contain_text("worker-2 was killed: out of memory (exit code 137)")
    expect(verdict).to_contain_text("RuntimeError: out of memory")
    expect(verdict).to_contain_text("Give the ranks more memory")


def test_from_the_evidence_to_the_log_of_that_rank(look: Look, given: Given) -> None:
    page = look(BERT).page
    page.get_by_role("button", name="Log of rank 3").click()
    page.wait_for_url("**/bert-large?ranks=3")
    log = page.get_by_role("region", name="Log of ranks 3")
    expect(log.locator(".line").last).to_have_text(f"3{FAULT[3]}")
    expect(page.get_by_role("status").filter(has_text="301 lines")).to_be_visible()
    assert given.queries[-1].ranks == {3}


def test_the_log_of_a_rank_comes_into_view(look: Look) -> None:
    page = look(BERT, viewport={"width": 1280, "height": 500}).page
    expect(page.locator(".log")).not_to_be_in_viewport()
    page.get_by_role("button", name="Log of rank 3").click()
    expect(page.locator(".log")).to_be_in_viewport()
    expect(page.locator(".log")).to_be_focused()


@pytest.mark.parametrize(
    ("remedy", "title", "command"),
    [
        ("shunter logs bert", "What to do", "shunter logs bert"),
        ("resume it with: kubectl patch pytorchjob a -p '{\"b\":1}'", "What to do: resume it with", "kubectl patch pytorchjob a"),
        ("kubectl get pods, then look at the first", "", ""),
        ("Give it more memory: see docs", "", ""),
    ],
)
def test_a_remedy_that_is_a_command_can_be_copied(look: Look, given: Given, remedy: str, title: str, command: str) -> None:
    given.rows["job"] = {**given.rows["job"], "verdicts": []}
    change(given, remedy=remedy)
    diagnosis = look(BERT).page.get_by_role("region", name="Diagnosis")
    if title:
        expect(diagnosis.get_by_label(title, exact=True)).to_contain_text(command)
    else:
        expect(diagnosis.locator(".remedy")).to_contain_text(remedy)
        expect(diagnosis.get_by_role("button", name="Copy")).to_have_count(0)


def test_an_address_leads_to_the_log(look: Look) -> None:
    page = look(f"{BERT}?tab=logs&ranks=3", viewport={"width": 1280, "height": 500}).page
    expect(page.locator(".log")).to_be_in_viewport()
    expect(page.locator(".log")).to_be_focused()


def test_a_job_that_was_made_again_under_its_name_has_a_log_of_its_own(look: Look, given: Given) -> None:
    """Also where a frame takes so long that the lines are there before the empty log was drawn."""
    given.lines = (LogLines(lines=((0, "master-0", 1.7e9, "of the first run"),)),)
    page = look(BERT).page
    expect(page.locator(".log .line")).to_have_text("0of the first run")
    expect(page.get_by_role("status").filter(has_text="end of the log")).to_be_visible()
    page.evaluate("() => { const at = requestAnimationFrame; window.requestAnimationFrame = draw => setTimeout(at, 500, draw) }")
    given.lines = (LogLines(lines=((0, "master-0", 1.7e9, "of the second run"),)),)
    change(given, id="bert-2", uid="bert-2", state="Running")
    expect(page.locator(".log .line")).to_have_text("0of the second run")


def test_a_rank_that_the_job_does_not_have_is_said_and_not_asked_for(look: Look, given: Given) -> None:
    page = look(f"{BERT}?ranks=5000-5001").page
    expect(page.get_by_text("this job has no rank 5000-5001")).to_be_visible()
    assert not any(query.ranks for query in given.queries)
    chosen = page.get_by_label("Ranks whose log is shown")
    chosen.fill("2-3")
    chosen.press("Enter")
    expect(page.locator(".log .line").last).to_have_text(f"3{FAULT[3]}")
    assert given.queries[-1].ranks == {2, 3}


def test_find_is_asked_of_the_server_and_marked(look: Look, given: Given) -> None:
    page = look(BERT).page
    page.get_by_label("Show only lines that contain this").fill("out of memory")
    expect(page.locator(".log .line")).to_have_count(1)
    expect(page.locator(".log mark")).to_have_text("out of memory")
    expect(page.get_by_text("1 line found")).to_be_visible()
    assert given.queries[-1].find == "out of memory"
    assert "find=out+of+memory" in page.url


def test_following_stops_when_one_scrolls_up_and_goes_on_at_the_end(look: Look) -> None:
    page = look(BERT).page
    log = page.locator(".log")
    follow = page.get_by_role("button", name="Follow")
    expect(log.locator(".line").last).to_contain_text("RuntimeError")
    expect(follow).to_have_attribute("aria-pressed", "true")
    log.evaluate("(box) => box.scrollTo(0, 100)")
    expect(follow).to_have_attribute("aria-pressed", "false")
    log.evaluate("(box) => box.scrollTo(0, box.scrollHeight)")
    expect(follow).to_have_attribute("aria-pressed", "true")


FIRST_IN_VIEW = """() => {
  const box = document.querySelector(".log");
  const top = box.getBoundingClientRect().top;
  return [...box.querySelectorAll(".line")].find((line) => line.getBoundingClientRect().bottom > top + 4)?.textContent ?? "";
}"""
"""The text of the line of the log that is read."""


@pytest.mark.parametrize("look_of_lines", ["as they are", "wrapped"])
def test_a_line_that_is_read_stays_while_others_come_and_go(look: Look, given: Given, look_of_lines: str) -> None:
    texts = iter(f"line {number}" + " and on" * 60 * (number % 7 == 0) for number in range(9000))
    given.pause = 0.01
    given.lines = [LogLines(lines=tuple((0, "master-0", 1.7e9, next(texts)) for _ in range(500))) for _ in range(11)]
    given.lines += [LogLines(lines=())] * 150  # time to scroll
    given.lines += [LogLines(lines=tuple((0, "master-0", 1.7e9, next(texts)) for _ in range(700))) for _ in range(5)]
    page = look(BERT).page
    expect(page.get_by_role("status").filter(has_text="5,500 lines")).to_be_visible()
    if look_of_lines == "wrapped":
        page.get_by_role("button", name="Wrap").click()
        expect(page.locator(".log .line")).to_have_count(400)
    page.locator(".log").evaluate("(box) => box.scrollBy(0, -500)")
    expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "false")
    read = page.evaluate(FIRST_IN_VIEW)
    # Lines are dropped at 6,000.
    expect(page.get_by_role("status").filter(has_text="9,000 lines; the last 5,")).to_be_visible()
    assert page.evaluate(FIRST_IN_VIEW) == read


def test_all_lines_can_be_reached_while_they_are_wrapped(look: Look, given: Given) -> None:
    given.lines = (LogLines(lines=tuple((0, "master-0", 1.7e9, f"line {number}" + " and on" * 50) for number in range(2000))),)
    page = look(BERT).page
    expect(page.get_by_role("status").filter(has_text="2,000 lines")).to_be_visible()
    page.get_by_role("button", name="Wrap").click()
    expect(page.locator(".log .line")).to_have_count(400)
    for direction, goal in ((-1, "line 0 "), (1, "line 1999 ")):
        for _ in range(40):
            page.locator(".log").evaluate(f"(box) => box.scrollBy(0, {direction} * box.scrollHeight)")
            if page.locator(".log .line").filter(has_text=goal).count():
                break
            page.wait_for_timeout(50)
        expect(page.locator(".log .line").filter(has_text=goal)).to_be_attached()
    page.locator(".log").evaluate("(box) => box.scrollTo(0, box.scrollHeight)")
    expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "true")


def test_a_line_that_is_read_stays_when_its_window_was_hidden(look: Look, given: Given) -> None:
    lines = tuple((0, "master-0", 1.7e9 + number, f"line {number}") for number in range(3000))
    given.lines = [
        LogLines(lines=()),
        *(LogLines(lines=lines[at : at + 500]) for at in range(0, 3000, 500)),
        *[LogLines(lines=())] * 600,
    ]
    given.pause = 0.05
    page = look(BERT).page
    log = page.locator(".log")
    expect(log.locator(".line").last).to_contain_text("line 2999")
    log.evaluate("(box) => box.scrollTo(0, 36000)")
    expect(log.locator(".line").filter(has_text="line 2000")).to_be_visible()
    page.evaluate(
        """() => {
          let isHidden = true;
          Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
          document.dispatchEvent(new Event("visibilitychange"));
          isHidden = false;
          document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    eventually(lambda: len(given.queries) == 2)
    for _ in range(8):
        assert page.evaluate(FIRST_IN_VIEW) == "0line 2000"
        page.wait_for_timeout(100)
    assert page.get_by_role("button", name="Follow").get_attribute("aria-pressed") == "false"
    expect(page.get_by_role("status").filter(has_text="3,000 lines")).to_be_visible()


def test_what_was_found_is_marked_where_it_is(look: Look, given: Given) -> None:
    """The lower case of some letters is longer."""
    given.lines = (LogLines(lines=((0, "master-0", 1.7e9, "\u0130\u0130\u0130 LOSS (0.5) loss(0.5)"),)),)
    page = look(f"{BERT}?find=loss").page
    expect(page.locator(".log mark")).to_have_text(["LOSS", "loss"])


def test_a_log_of_more_than_is_kept_says_so(look: Look, given: Given) -> None:
    lines = tuple((0, "master-0", 1.7e9, f"line {number}") for number in range(9000))
    given.lines = tuple(LogLines(lines=lines[at : at + 1000], skipped=10) for at in range(0, 9000, 1000))
    page = look(BERT).page
    expect(page.locator(".log .line").last).to_contain_text("line 8999")
    said = page.get_by_role("status").filter(has_text="9,000 lines; 90 not sent")
    expect(said).to_contain_text(" are kept here")
    assert page.locator(".log .line").count() < 100


def test_a_log_that_begins_again_has_its_lines_once(look: Look, given: Given) -> None:
    given.cuts = 1
    tab = look(BERT)
    expect(tab.page.get_by_role("status").filter(has_text="601 lines; end of the log")).to_be_visible()
    assert len(given.queries) == 2
    tab.expect_errors("ERR_INCOMPLETE")


def test_lines_that_name_an_exception_are_marked(look: Look, given: Given) -> None:
    texts = ("ValueError: no such column", "step 3 mean_error 0.1", "CUDA out of memory: OOM", "loss=nan", "epoch nanotube")
    given.lines = (LogLines(lines=tuple((0, "master-0", 1.7e9, text) for text in texts)),)
    page = look(BERT).page
    expect(page.locator(".log .line")).to_have_count(len(texts))
    expect(page.locator(".log .line.bad")).to_have_text(["0ValueError: no such column", "0CUDA out of memory: OOM", "0loss=nan"])


def test_what_is_missing_from_a_log_is_said_under_it(look: Look, given: Given) -> None:
    note = "968 containers of 1000 not followed: choose at most 32 ranks."
    given.lines = (LogLines(lines=(FAULT,), notes=(note,)), LogLines(lines=(), notes=(note, "pods/log is forbidden")))
    page = look(BERT).page
    missing = page.get_by_label("What is missing from this log").get_by_role("listitem")
    expect(missing).to_have_text([note, "pods/log is forbidden"])


def test_the_log_of_a_failed_job_of_many_ranks_begins_with_the_rank_that_failed(look: Look, given: Given) -> None:
    given.rows["job"] = samples.job(1000)
    page = look(BERT).page
    page.wait_for_url("**/bert-large?ranks=3")
    expect(page.locator(".log .line").last).to_have_text(f"3{FAULT[3]}")
    assert given.queries[-1].ranks == {3}
    page.get_by_role("button", name="Show all ranks").click()
    expect(page.get_by_role("region", name="Log of all ranks").locator(".line").first).to_be_visible()
    change(given, restarts=2)
    expect(page.get_by_text("2 of 3")).to_be_visible()
    assert "ranks=" not in page.url


def test_the_log_since_a_time_is_asked_of_the_server_and_stands_in_the_address(look: Look, given: Given) -> None:
    page = look(BERT).page
    page.get_by_label("Since when lines are shown").select_option("last hour")
    page.wait_for_url("**/bert-large?since=3600")
    eventually(lambda: given.queries and given.queries[-1].since == 3600)
    page.reload()
    expect(page.get_by_label("Since when lines are shown")).to_have_value("3600")


def test_keys_of_a_job(look: Look, given: Given) -> None:
    page = look("/jobs?state=Failed").page
    page.get_by_role("link", name="bert-large").click()
    expect(page.locator(".log .line").first).to_be_visible()
    page.keyboard.press("y")
    expect(page.get_by_label("YAML", exact=True)).to_contain_text("kind: PyTorchJob")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("l")
    expect(page.locator(".log")).to_be_focused()
    page.keyboard.press("c")
    expect(page.locator("#toast")).to_contain_text(str(detail(given).kubectl))
    page.keyboard.press("Escape")
    page.wait_for_url("**/jobs?state=Failed")


def test_the_heading_keeps_the_focus_while_its_job_loads(look: Look) -> None:
    page = look().page
    page.get_by_role("link", name="bert-large").click()
    expect(page.locator(".log .line").first).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_values_stand_beside_a_curve_only_while_one_points_at_it(look: Look) -> None:
    page = look(BERT).page
    legend = page.locator(".legend")
    expect(legend).to_have_text("loss", use_inner_text=True)
    page.locator(".curve > svg").hover()
    expect(legend).to_contain_text(re.compile(r"step 5\d\d\s+loss 0\.\d+"), use_inner_text=True)
    page.locator("h1").hover()
    expect(legend).to_have_text("loss", use_inner_text=True)


def test_a_value_that_is_no_number_leaves_a_gap_and_is_said(look: Look, given: Given) -> None:
    values = [1.0, 0.9, None, 0.7, 0.6, None, None]
    points = tuple((float(step), value) for step, value in enumerate(values))
    lost = SeriesRow(id="a", name="loss", rank=0, source="log", points=points)
    odd = SeriesRow(id="b", name="loss", rank=1, source="log", points=points[:5])
    given.rows["job"] = {**given.rows["job"], "series": [lost, odd]}
    change(given, progress=Progress(position="step 6/20", percentage=30, not_finite="NaN"))
    page = look(BERT).page
    expect(page.locator(".gap")).to_have_text(
        ["rank 0 is NaN or infinite since step 5.", "rank 1 is NaN or infinite in places, first at step 2."]
    )
    drawn = page.locator(".curve path.line").first.get_attribute("d") or ""
    assert drawn.count("M") == 2
    expect(page.locator(".facts")).to_contain_text("NaNloss")


def test_curves_say_of_how_many_ranks_they_are(look: Look, given: Given) -> None:
    rows = [SeriesRow(id=str(rank), name="loss", rank=rank, source="log", points=((1.0, 2.0), (2.0, 1.0))) for rank in range(3)]
    given.rows["job"] = {**given.rows["job"], "series": rows}
    change(given, wanted=1000)
    page = look(BERT).page
    expect(page.locator("section[aria-labelledby=curve] header")).to_contain_text("from its log; 3 of 1,000 ranks")
    expect(page.locator(".curve path.line")).to_have_count(3)
    page.get_by_role("button", name="All ranks", exact=True).click()
    expect(page.locator(".curve path.line")).to_have_count(1)
    expect(page.locator("section[aria-labelledby=curve] header")).to_contain_text("1 of 1,000 ranks")


def test_the_metric_that_the_server_has_first_is_shown_first(look: Look, given: Given) -> None:
    """Of it alone the curves of all ranks are sent."""
    made = ((1, "eval_loss", 0), (0, "train_loss", 0), (0, "train_loss", 1))
    points = ((1.0, 2.0), (2.0, 1.0))
    rows = [
        SeriesRow(id=f"{name}{rank}", name=name, order=order, rank=rank, source="log", points=points)
        for order, name, rank in made
    ]
    given.rows["job"] = {**given.rows["job"], "series": rows}
    page = look(BERT).page
    expect(page.get_by_label("Metric")).to_have_value("train_loss")
    expect(page.get_by_label("Metric").locator("option")).to_have_text(["train_loss", "eval_loss"])
    expect(page.locator(".curve path.line")).to_have_count(2)


def test_names_and_numbers_of_any_length_keep_the_view_in_its_window(look: Look, given: Given) -> None:
    points = tuple((float(step), 1e308 * (-1) ** step) for step in range(9))
    name = "loss" + "of_everything" * 300
    given.rows["job"] = {**given.rows["job"], "series": [SeriesRow(id="a", name=name, source="trainerStatus", points=points)]}
    change(given, progress=Progress(position=f"step {10**300}/{10**301}", percentage=10, loss=-1e308, checkpoint_step=10**25))
    page = look(BERT, viewport={"width": 480, "height": 900}).page
    expect(page.locator(".facts")).to_contain_text(f"step {10**300}/")
    expect(page.locator(".curve path.line")).to_have_attribute("d", re.compile(r"^M[\d.L -]+$"))
    assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_stretch_of_a_curve_that_is_dragged_over_is_looked_at_closer(look: Look) -> None:
    page = look(BERT).page
    curve = page.locator(".curve > svg")
    labels = curve.locator("text[text-anchor=middle]")
    expect(labels.last).to_have_text("1,200")
    place = curve.bounding_box()
    assert place is not None
    left, middle = place["x"] + 60, place["y"] + place["height"] / 2
    page.mouse.move(left, middle)
    page.mouse.down()
    page.mouse.move(left + (place["width"] - 64) / 4, middle, steps=4)
    page.mouse.up()
    expect(labels.last).to_have_text("300")
    page.get_by_role("button", name="Whole curve").click()
    expect(labels.last).to_have_text("1,200")


def test_a_curve_has_round_numbers_on_its_axes(look: Look) -> None:
    found = look(BERT).page.evaluate(
        """async () => {
          const { nearest, ticks } = await import("/assets/js/plot.js");
          return [ticks([0, 1218], 6), ticks([0.31, 0.42], 4), ticks([-3, 3], 4), ticks([5, 5.0001], 2), ticks([0, 1e9], 3),
                  nearest([0, 10, 20], 14), nearest([0, 10, 20], 99), nearest([], 1)];
        }"""
    )
    assert found[:2] == [[0, 500, 1000], [0.35, 0.4]]
    assert found[2:] == [[-2, 0, 2], [5, 5.00005, 5.0001], [0, 500_000_000, 1_000_000_000], 10, 20, None]


def test_where_a_training_is_has_its_epoch(look: Look) -> None:
    """A job that counts only epochs had no progress in the list."""
    found = look(BERT).page.evaluate(
        """async () => {
          const { progressText } = await import("/assets/js/format.js");
          const found = [{ position: "step 7 of epoch 0.5" }, { position: "step 1220/3000", percentage: 40 }, {}];
          return found.map((one) => progressText(one, 0, true));
        }"""
    )
    assert found == ["step 7 of epoch 0.5", "40 %", ""]


def test_an_epoch_without_a_known_number_of_steps_is_shown_whole(look: Look, given: Given) -> None:
    """It was shown as `7`, with the label `step of epoch 2`."""
    change(given, progress=Progress(position="step 7 of epoch 2", source="log"))
    page = look(BERT).page
    expect(page.locator(".facts")).to_contain_text("step 7 of epoch 2from its log")


def test_the_strip_has_one_tab_stop_and_arrows_move_in_it(look: Look) -> None:
    page = look(BERT).page
    strip = page.get_by_role("listbox")
    strip.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".inspector")).to_contain_text("rank 3 Failed, failed, pod giant-worker-2")
    expect(page.locator(f"#{strip.get_attribute('aria-activedescendant')}")).to_have_text("rank 3Failednode-0")
    page.keyboard.press("Enter")
    page.wait_for_url("**?ranks=3")
    expect(page.locator("i[aria-selected=true]")).to_have_count(1)
    page.keyboard.press("End")
    expect(page.locator(".inspector")).to_contain_text("rank 7")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.closest('.strip')") is None


def test_ranks_that_differ_are_named_beside_the_strip(look: Look) -> None:
    page = look(BERT).page
    page.get_by_role("button", name="rank 3 failed").click()
    page.wait_for_url("**/bert-large?ranks=3")


def test_a_rank_that_does_not_run_says_why(look: Look, given: Given) -> None:
    waiting = Rank(id="rank-0", rank=0, label="rank-0", state="Waiting", reason="Unschedulable")
    given.rows["job"] = {**given.rows["job"], "ranks": [waiting]}
    page = look(BERT).page
    expect(page.get_by_role("option", name="rank 0")).to_contain_text("Unschedulable")
    expect(page.locator(".inspector")).to_have_text("rank 0 Waiting, Unschedulable")


def test_ranks_are_coloured_by_what_is_chosen(look: Look) -> None:
    page = look(BERT).page
    page.get_by_label("Colour ranks by").select_option("restarts")
    expect(page.locator(".strip i.l4")).to_have_count(1)
    expect(page.locator(".strip i.l0")).to_have_count(7)


def test_the_curve_has_its_values_as_a_table(look: Look) -> None:
    page = look(BERT).page
    expect(page.locator(".curve path.line")).to_be_visible()
    expect(page.get_by_role("img", name="loss: from 2.6 at 0 to 0.4678 at 1218")).to_be_visible()
    page.get_by_text("Values as a table").click()
    expect(page.locator("details tr")).to_have_count(611)
    page.get_by_label("Metric").select_option("learning_rate")
    expect(page.get_by_role("columnheader", name="learning_rate")).to_be_visible()


def test_delete_asks_for_the_name_and_sends_what_was_seen(look: Look, given: Given) -> None:
    page = look(BERT).page
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("kubectl delete pytorchjob bert-large -n vision")
    confirm = dialog.get_by_role("button", name="Delete")
    expect(confirm).to_be_disabled()
    dialog.get_by_label("Type bert-large to confirm").fill("bert-large")
    # What changes between the look and the click is not what was seen.
    change(given, resource_version="8")
    confirm.click()
    expect(page.get_by_role("status").filter(has_text="delete: done")).to_be_visible()
    ((action, request),) = given.requests
    assert (action, request.uid, request.resource_version) == ("delete", "bert", "7")


def test_an_action_that_is_refused_says_why_and_stays_open(look: Look, given: Given) -> None:
    given.refusal = Conflict(Status(code=409, reason="Conflict", message="the job has changed since you looked."))
    tab = look(BERT)
    tab.page.get_by_role("button", name="Rerun").click()
    tab.page.get_by_role("dialog").get_by_role("button", name="Rerun").click()
    expect(tab.page.get_by_role("alert")).to_contain_text("the job has changed since you looked.")
    tab.expect_errors("409")


def test_rerun_leads_to_the_new_job(look: Look) -> None:
    page = look(BERT).page
    page.get_by_role("button", name="Rerun").click()
    page.get_by_role("dialog").get_by_role("button", name="Rerun").click()
    page.wait_for_url("**/jobs/vision/PyTorchJob/bert-large-2")


def test_what_is_not_allowed_is_not_offered(look: Look, given: Given) -> None:
    change(given, actions=())
    page = look(BERT).page
    expect(page.get_by_role("button", name="YAML")).to_be_visible()
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)


def test_yaml_hides_credentials_until_they_are_asked_for(look: Look) -> None:
    page = look(BERT).page
    page.get_by_role("button", name="YAML").click()
    expect(page.get_by_label("YAML", exact=True)).to_contain_text("password: (hidden)")
    page.get_by_role("button", name="Show values that look like credentials").click()
    expect(page.get_by_label("YAML", exact=True)).to_contain_text("hunter2")


def test_a_command_is_copied(browser: Browser, given: Given, given_page: RunningPage) -> None:
    with logged_in(browser, given_page, BERT, permissions=["clipboard-read", "clipboard-write"]) as tab:
        tab.page.get_by_role("button", name="Copy as kubectl").click()
        expect(tab.page.locator("#toast")).to_have_text(f"Copied: {detail(given).kubectl}")
        assert tab.page.evaluate("() => navigator.clipboard.readText()") == detail(given).kubectl


def test_a_job_that_goes_leaves_what_was_known(look: Look, given: Given) -> None:
    page = look(BERT).page
    expect(page.locator(".facts")).to_be_visible()
    given.rows["job"] = dict.fromkeys(given.rows["job"], ())
    expect(page.get_by_text("This job no longer exists.")).to_be_visible()
    expect(page.get_by_role("heading", name="bert-large")).to_be_visible()


def test_a_change_of_one_of_a_thousand_ranks_is_shown(look: Look, given: Given) -> None:
    given.rows["job"] = samples.job(1000)
    page = look(BERT).page
    expect(page.locator(".strip [role=option]")).to_have_count(1000)
    assert page.locator(".strip").evaluate("(strip) => strip.offsetHeight") <= 160
    ranks = samples.ranks(1000)
    ranks[417] = msgspec.structs.replace(ranks[417], state="Restarting", differs="restarted")
    given.rows["job"] = {**given.rows["job"], "ranks": ranks}
    expect(page.get_by_role("option", name="rank 417, Restarting, restarted")).to_have_count(1)
