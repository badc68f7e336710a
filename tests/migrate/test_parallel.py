"""Work shared out to processes gives what a plain loop gives. Each case runs in a Python of its own: that of the tests may have
threads, and then nothing is forked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).parents[2] / "examples" / "v1"
FORKING = """
import os
from shunter.migrate import parallel
from shunter.migrate.parallel import beside, mapped

parallel._processors = lambda: 3
forks = []
fork = os.fork
os.fork = lambda: forks.append(1) or fork()
"""


def ran(script: str, *arguments: str) -> str:
    """What the script prints; it must not fail."""
    text = FORKING + dedent(script)
    done = subprocess.run([sys.executable, "-c", text, *arguments], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_results_are_those_of_a_loop_in_its_order() -> None:
    script = """
    pids = mapped(lambda number: (number, os.getpid()), range(100), least=10)
    print([number for number, _ in pids] == [*range(100)], len({pid for _, pid in pids}), len(forks))
    """
    assert ran(script) == "True 3 2\n"


def test_known_objects_in_results_are_the_same_ones() -> None:
    script = """
    from types import SimpleNamespace
    things = [SimpleNamespace(number=number) for number in range(100)]
    found = mapped(lambda thing: {"of": thing}, things, least=10, known=things)
    print(all(one["of"] is thing for one, thing in zip(found, things, strict=True)), len(forks))
    """
    assert ran(script) == "True 2\n"


def test_all_items_are_counted() -> None:
    script = """
    counts = []
    mapped(str, range(100), least=10, done=counts.append)
    print(sum(counts), len(forks))
    """
    assert ran(script) == "100 2\n"


def test_what_the_work_raises_in_another_process_is_raised() -> None:
    script = """
    def work(number):
        if number == 99:
            raise KeyError("the last one")
    try:
        mapped(work, range(100), least=10)
    except KeyError as error:
        print(error, len(forks))
    """
    assert ran(script) == "'the last one' 2\n"


def test_a_killed_process_is_named() -> None:
    script = """
    from shunter.errors import EnvironmentProblem
    parent = os.getpid()
    def work(number):
        if os.getpid() != parent:
            os.kill(os.getpid(), 9)
    try:
        mapped(work, range(100), least=10)
    except EnvironmentProblem as problem:
        print(problem.message)
    """
    assert ran(script) == "A process that worked on 28 of the objects was killed by SIGKILL.\n"


def test_no_process_is_left_after_an_error() -> None:
    script = """
    import signal
    parent = os.getpid()
    def work(number):
        if os.getpid() != parent:
            signal.pause()
        elif number == 40:
            raise InterruptedError
    try:
        mapped(work, range(100), least=10)
    except InterruptedError:
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print("none")
    """
    assert ran(script) == "none\n"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("count = parallel.processes(19, 10)", id="few items"),
        pytest.param(
            "import threading\nevent = threading.Event()\nthread = threading.Thread(target=event.wait)\nthread.start()\n"
            "count = parallel.processes(100, 10)\nevent.set()\nthread.join()",
            id="another thread runs",
        ),
        pytest.param(
            "import asyncio\nasync def inside():\n    return parallel.processes(100, 10)\ncount = asyncio.run(inside())",
            id="an event loop runs",
        ),
    ],
)
def test_nothing_is_forked_where(script: str) -> None:
    assert ran(f"{script}\nprint(count, parallel.processes(100, 10))") == "1 3\n"


def test_conversions_and_proofs_are_the_same_in_any_number_of_processes(tmp_path: Path) -> None:
    texts = [text for path in sorted(EXAMPLES.glob("*.yaml")) if "apiVersion: kubeflow.org/v1\n" in (text := path.read_text())]
    for number in range(60):
        folder = tmp_path / f"team-{number % 7}"
        folder.mkdir(exist_ok=True)
        (folder / f"job-{number}.yaml").write_text(texts[number % len(texts)])
    script = """
    import sys
    from shunter.migrate.conversion import batch
    from shunter.migrate.conversion.emit import files
    from shunter.migrate.options import Options
    from shunter.migrate.proof.proving import proofs_of
    from shunter.migrate.conversion.sharing import shared_in
    from shunter.migrate.conversion.source.provider import read

    batch.LEAST_JOBS = 10
    results = []
    for processes in (1, 2, 3):
        parallel._processors = lambda: processes
        given = read(sys.argv[1:])
        converted = shared_in(given, batch.converted(given.convertible, Options(), [other.value for other in given.others]))
        proofs = proofs_of(files.usable(converted), Options())
        results.append((files.stream(given, converted), converted.findings, [proof.results for proof in proofs]))
    print(len(forks), results[0] == results[1] == results[2], len(results[0][2]) > 40)
    """
    assert ran(script, str(tmp_path)) == "6 True True\n"


def test_work_beside_other_work_gives_its_result() -> None:
    script = """
    with beside(lambda: (os.getpid(), "done"), pays=True) as result:
        own = os.getpid()
        pid, text = result()
    print(text, pid != own, len(forks))
    with beside(lambda: (os.getpid(), "done"), pays=False) as result:
        print(result() == (own, "done"), len(forks))
    """
    assert ran(script) == "done True 1\nTrue 1\n"


def test_what_work_beside_raises_is_raised_where_its_result_is_asked_for() -> None:
    script = """
    def fail():
        raise ValueError("of the work")

    with beside(fail, pays=True) as result:
        print("goes on")
        try:
            result()
        except ValueError as error:
            print(error, len(forks))
    """
    assert ran(script) == "goes on\nof the work 1\n"


def test_work_beside_that_is_killed_is_done_again_here() -> None:
    script = """
    import signal
    own = os.getpid()

    def killed():
        if os.getpid() != own:
            os.kill(os.getpid(), signal.SIGKILL)
        return "done"

    with beside(killed, pays=True) as result:
        print(result(), len(forks))
    """
    assert ran(script) == "done 1\n"


def test_work_beside_ends_with_a_block_that_is_left() -> None:
    script = """
    import time
    try:
        with beside(lambda: time.sleep(600), pays=True):
            raise ValueError("of the block")
    except ValueError as error:
        print(error)
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("no child is left")
    """
    assert ran(script) == "of the block\nno child is left\n"


def test_one_of_several_processes_forks_no_more() -> None:
    script = """
    def work(number):
        with beside(os.getpid, pays=True) as result:
            return result() == os.getpid(), os.getpid()

    own = os.getpid()
    found = mapped(work, range(100), least=10)
    print(all(here for here, pid in found if pid != own))
    """
    assert ran(script) == "True\n"


def test_endings_that_are_worked_out_beside_the_comparison_give_the_same_findings() -> None:
    script = """
    import sys
    from shunter.migrate.conversion import batch
    from shunter.migrate.conversion.emit import files
    from shunter.migrate.conversion.source.provider import read
    from shunter.migrate.options import Options
    from shunter.migrate.proof import comparison, endings
    from shunter.migrate.proof.topics import OTHER_ENDING

    given = read([sys.argv[1]])
    results = batch.converted(given.convertible, Options(), [])
    (one,) = files.usable(results)
    for job in one.runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        job["template"]["spec"] |= {"backoffLimit": 0, "podFailurePolicy": None}
        job["template"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    found = []
    for pairs in (1, 1000):
        comparison._MANY_PAIRS = pairs
        endings._computed.cache_clear()
        found.append(comparison.compared_objects(one.source, one.train_job, one.runtime).findings)
        print(len(forks), any(finding.topic == OTHER_ENDING for finding in found[-1]))
    print(found[0] == found[1])
    """
    assert ran(script, str(EXAMPLES / "pytorch-distributed-ddp.yaml")) == "1 True\n1 True\nTrue\n"
