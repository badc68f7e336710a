"""The page in a real browser, as a person uses it: a job that fails is found, understood and run again; a job is moved to v2.

On either kind of cluster. Nothing is typed that the page does not show.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from e2e.running_cluster import Cluster
from e2e.test_page import FAILS_ON_RANK_2, STEPS, pytorch_job
from page.browser.chromium import browsing, logged_in
from page.server import RunningPage, page_of, running

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

ENDS_IN_V2 = """
import os, time
for step in range(1, 6):
    print(f"step={step} loss={1 / step:.4f}", flush=True)
    if step == 3 and "JOB_COMPLETION_INDEX" not in os.environ:
        time.sleep(600)
"""
FLOODS = """
import os, sys, time
print("waits", flush=True)
while not os.path.exists(GO):
    time.sleep(0.1)
line = "step 1234 loss 0.4123 lr 0.0003 throughput 2.41 it/s\\n"
for _ in range(10):
    sys.stdout.write(line * 10_000)
    sys.stdout.flush()
    time.sleep(0.1)
sys.stdout.write("x" * 100_000_000 + "\\n")
print("the end of the flood", flush=True)
time.sleep(600)
"""
"""Once the file GO is there, 100,000 lines within a second, then one line of 100 MB."""
LONGEST_TASK = """() => {
  window.longest = 0;
  const note = (task) => { window.longest = Math.max(window.longest, task.duration); };
  new PerformanceObserver((list) => list.getEntries().forEach(note))
    .observe({ type: "longtask" });
}"""
MILLISECONDS = 60_000
"""For pods of a busy machine to start, fail or end."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture
def page(cluster: Cluster) -> Iterator[RunningPage]:
    with running(page_of(cluster)) as found:
        yield found


def act(tab: Page, action: str, command: str, name: str = "") -> None:
    """Presses a job's button and, where it asks for the name, types it; the dialog shows the command that does the same."""
    tab.get_by_role("button", name=action, exact=True).click()
    dialog = tab.get_by_role("dialog")
    expect(dialog.get_by_label("The same as a command")).to_contain_text(command)
    if name:
        dialog.get_by_label(f"Type {name} to confirm").fill(name)
    dialog.get_by_role("button", name=action, exact=True).click()
    expect(dialog).to_have_count(0)


def state(tab: Page) -> Locator:
    return tab.locator(".facts .state")


def test_a_job_that_fails_is_found_understood_and_run_again(
    browser: Browser, cluster: Cluster, namespace: str, page: RunningPage
) -> None:
    with logged_in(browser, page, f"/jobs?namespace={namespace}") as window:
        tab = window.page
        tab.set_default_timeout(MILLISECONDS)
        expect.set_options(timeout=MILLISECONDS)
        expect(tab.get_by_role("heading", name="No jobs yet")).to_be_visible()
        cluster.apply(pytorch_job(namespace, "bert", FAILS_ON_RANK_2), pytorch_job(namespace, "steady", STEPS))

        expect(tab.locator("tr.row").first).to_contain_text("rank 2: exit code 1: ValueError: no data in shard 7")
        tab.get_by_role("link", name="bert").click()
        diagnosis = tab.get_by_role("region", name="Diagnosis")
        expect(diagnosis).to_contain_text("ValueError: no data in shard 7")
        diagnosis.get_by_role("button", name="Log of rank 2").first.click()
        log = tab.get_by_role("region", name="Log of ranks 2")
        expect(log.get_by_text("about to fail <img src=x onerror=alert(1)>")).to_be_visible()
        tab.get_by_label("Show only lines that contain this").fill("no data in shard")
        expect(log.locator("mark")).to_have_text("no data in shard")
        expect(tab.get_by_role("listitem").filter(has_text="rank 2").first).to_be_visible()

        act(tab, "Rerun", "shunter run --rerun pytorchjob/bert")
        tab.wait_for_url("**/PyTorchJob/bert-2")
        expect(state(tab)).to_have_text("Failed")
        act(tab, "Delete", "shunter delete pytorchjob/bert-2", "bert-2")
        expect(tab.get_by_text("This job no longer exists.")).to_be_visible()

        tab.goto(f"{page.url}/jobs/{namespace}/PyTorchJob/steady")
        expect(tab.locator(".curve path.line").first).to_be_visible()
        expect(tab.locator(".facts")).to_contain_text("/9999")
        act(tab, "Suspend", "kubectl patch pytorchjob steady")
        expect(state(tab)).to_have_text("Suspended")
        act(tab, "Resume", "kubectl patch pytorchjob steady")
        expect(state(tab)).to_have_text("Running")
        expect(tab.locator(".facts")).to_contain_text("3 / 3ranks up")
        act(tab, "Delete", "shunter delete pytorchjob/steady", "steady")
        expect(tab.get_by_text("This job no longer exists.")).to_be_visible()
    left = cluster.get("pytorchjobs", "-n", namespace)["items"]
    assert [job["metadata"]["name"] for job in left] == ["bert"]


@pytest.mark.long
def test_a_flood_of_lines_and_one_of_100_mb_leave_the_page_at_work(
    browser: Browser, cluster: Cluster, namespace: str, page: RunningPage
) -> None:
    go = f"/tmp/{namespace}-go"
    flood = pytorch_job(namespace, "flood", FLOODS.replace("GO", repr(go)))
    del flood["spec"]["pytorchReplicaSpecs"]["Worker"]
    cluster.apply(flood)
    expect.set_options(timeout=MILLISECONDS)
    with logged_in(browser, page, f"/jobs/{namespace}/PyTorchJob/flood") as window:
        tab = window.page
        log = tab.locator(".log")
        expect(log).to_contain_text("waits")
        tab.evaluate(LONGEST_TASK)
        cluster.kubectl("exec", "flood-master-0", "-n", namespace, "--", "touch", go)
        expect(log).to_contain_text("step 1234")
        tab.get_by_role("button", name="Wrap").click()
        expect(tab.get_by_role("button", name="Wrap")).to_have_attribute("aria-pressed", "true")
        tab.get_by_role("button", name="Wrap").click()
        expect(log).to_contain_text("the end of the flood")
        expect(tab.get_by_role("region", name="Log").get_by_role("status")).to_contain_text("not sent")
        assert tab.locator(".log .line").count() < 100
        print("longest task:", tab.evaluate("() => window.longest"))


def test_a_job_is_moved_from_the_inventory_to_compared(
    browser: Browser, cluster: Cluster, namespace: str, page: RunningPage, tmp_path: Path
) -> None:
    cluster.apply(pytorch_job(namespace, "resnet", ENDS_IN_V2))
    cluster.kubectl("wait", "pytorchjob/resnet", "-n", namespace, "--for=condition=Running", "--timeout=60s")

    def run(command: str, *further: str) -> str:
        """A command that the page shows, in the user's directory."""
        words = shlex.split(command.replace(" > plan.yaml", ""))
        assert words[0] == "shunter", command
        done = cluster.shunter(*words[1:], *further, cwd=tmp_path)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def shown(tab: Page, title: str) -> str:
        return tab.get_by_label(title, exact=True).inner_text()

    expect.set_options(timeout=MILLISECONDS)
    with logged_in(browser, page, f"/migration?namespace={namespace}") as window:
        tab = window.page
        expect(tab.locator("tr.row .state")).to_have_text("ready")
        expect(tab.get_by_text("1 of 1 v1 jobs left")).to_be_visible()
        assert json.loads(run(shown(tab, "See all jobs and their classes"), "-n", namespace, "-o", "json"))["jobs"] == 1
        plan = tmp_path / "plan.yaml"
        plan.write_text(run(shown(tab, "Write a plan"), "-n", namespace, "--running", "move"))
    with running(page_of(cluster, plan=plan)) as planned, logged_in(browser, planned, "/migration") as window:
        tab = window.page
        expect(tab.locator("tr.row .state")).to_have_text("ready")
        tab.get_by_role("link", name="resnet").click()
        expect(tab.get_by_label("v1", exact=True)).to_contain_text("pytorchReplicaSpecs")
        expect(tab.get_by_label("v2", exact=True)).to_contain_text("kind: TrainJob")
        expect(tab.locator(".proof-stages")).to_contain_text("pods: holds")
        tab.go_back()
        expect(tab.locator("tr.row .state")).to_have_text("ready")
        run(shown(tab, "Execute the plan"), "--yes")
        expect(tab.locator("tr.row .state")).to_have_text("finished")
        cluster.kubectl("wait", "trainjob/resnet", "-n", namespace, "--for=condition=Complete", "--timeout=60s")
        run(shown(tab, "Compare the runs"), "--throughput", "100")
        expect(tab.locator("tr.row .state")).to_have_text("compared")
        expect(tab.get_by_text("1 of 1 done")).to_be_visible()
        tab.get_by_role("link", name="resnet").click()
        expect(tab.locator(".facts .state")).to_have_text("compared")
        expect(tab.get_by_role("region", name="Comparison of the runs")).to_contain_text("loss")
