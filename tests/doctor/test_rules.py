"""Every rule: what it says, of what it stays silent, and what the report says when a source is withheld."""

from __future__ import annotations

import msgspec
import pytest

from doctor.evidences import ended, failed, log, pod, runs, seen, traceback
from doctor.rule_cases import ASKS, CASES, DENIED, FULL, MOUNTED, SAVE_DENIED, kept_apart, loops, says_nccl, says_of_nccl, xid
from doctor.test_corpus import CORPUS, EXPECTED
from job_evidence import NOW, ago, event, v1_job, waiting
from network_policy_cases import CASES as POLICY_CASES
from network_policy_cases import ingress, of_block
from shunter.api.meta import Json
from shunter.doctor import recording
from shunter.doctor.case import Case
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import NO_EXEC, Evidence, Log, Missing
from shunter.doctor.rules import RULES
from shunter.doctor.rules.rule import Rule
from shunter.operator.diagnosis import RANK_FAILED

EMPTY: dict[str, Json] = {
    "pods": {"pods": ()},
    "events": {"events": ()},
    "logs": {"logs": ()},
    "nodes": {"nodes": ()},
    "persistentvolumeclaims": {"claims": ()},
    "metrics": {"cpu": {}},
    "networkpolicies": {"policies": ()},
}


def ids(evidence: Evidence, rules: tuple[Rule, ...] = RULES) -> list[str]:
    return [verdict.id for verdict in diagnose(evidence, evidence.at, rules).verdicts]


def test_what_failed_is_known_from_the_record_of_a_job_whose_pods_are_gone() -> None:
    failure = {"rank": 1, "pod": "j-worker-0", "podUID": "u", "container": "pytorch", "reason": "Error", "exitCode": 1}
    evidence = failed()
    said = {"message": "KeyError: 'DATASET'", "time": ago(20)}
    evidence.job["status"]["rankFailures"] = {"count": 1, "last": [{**failure, **said}]}
    (verdict,) = diagnose(evidence, evidence.at).verdicts
    assert (verdict.id, verdict.ranks, verdict.cause) == ("T00", (1,), "rank 1 ended with KeyError: 'DATASET'")


@pytest.mark.parametrize("words", ["error: --global-batch 7 must be a multiple of 2 ranks.", "train.py: error: no option --lrr"])
def test_a_program_that_refuses_its_input_is_quoted(words: str) -> None:
    evidence = failed(pod(0, **ended(2)), logs=(log(0, "reading data", words, "bye"),))
    (verdict,) = diagnose(evidence, evidence.at).verdicts
    assert (verdict.id, verdict.confidence, verdict.cause) == ("T00", "certain", f"rank 0 ended with exit code 2: {words}")
    assert words in [excerpt.text for excerpt in verdict.evidence]


def test_a_program_that_torchrun_does_not_find_is_named_and_not_its_summary() -> None:
    summary = ["ChildFailedError:", "=" * 60, *(f"  rank      : {rank} (local_rank: {rank})" for rank in range(30)), "=" * 60]
    failed_at = (
        "E1126 03:41:13.634000 3 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 2) local_rank: 0 ("
    )
    words = "/usr/bin/python3: can't open file '/app/trian.py': [Errno 2] No such file or directory"
    again = log(0, words, failed_at, *summary, previous=True)
    evidence = seen(pod(0, **loops()), pod(1, **runs()), pod(2, **runs()), logs=(again,))
    (verdict,) = diagnose(evidence, NOW).verdicts
    assert (verdict.id, verdict.cause) == ("K07", f"rank 0 ends repeatedly with exit code 1, the last time with {words}")
    assert verdict.remedy.endswith("see the last lines of each run: shunter logs j -n n --rank 0 --previous")
    evidence = seen(*evidence.pods, logs=(again, msgspec.structs.replace(again, is_previous=False)))
    (verdict,) = diagnose(evidence, NOW).verdicts
    assert (verdict.id, verdict.cause) == ("K07", f"rank 0 ends with {words} each time")
    evidence = failed(pod(0, **ended(1)), logs=(log(0, words, failed_at, *summary),))
    (verdict,) = diagnose(evidence, NOW).verdicts
    assert (verdict.id, verdict.cause) == ("T00", f"rank 0 ended with exit code 1: {words}")
    assert verdict.remedy == "Correct the container's command, or what it reads."


def test_a_rank_that_fails_again_and_again_in_pods_that_are_gone_is_a_loop() -> None:
    failure = {"rank": 1, "pod": "j-worker-0", "container": "pytorch", "reason": "Error", "exitCode": 137}
    evidence = seen(pod(0, **runs()), pod(1, **waiting("ContainerCreating")), pod(2, **runs()))
    last = [{**failure, "podUID": f"u{number}", "time": ago(60 - 20 * number)} for number in range(3)]
    evidence.job["status"]["rankFailures"] = {"count": 3, "last": last}
    (verdict,) = diagnose(evidence, evidence.at).verdicts
    assert (verdict.id, verdict.ranks) == ("K07", (1,))


@pytest.mark.parametrize(
    ("code", "words", "cause", "remedy"),
    [
        (255, "exec /bin/train: exec format error", "exit code 255: exec /bin/train: exec format error", "architecture"),
        (132, "step 1 loss 0.5", "was ended by illegal instruction (exit code 132)", "newer CPU"),
        (134, "malloc(): invalid size (unsorted)", "ended with malloc(): invalid size (unsorted)", ""),
        (134, "free(): double free detected in tcache 2", "ended with free(): double free detected in tcache 2", ""),
        (1, traceback("RuntimeError: DataLoader worker (pid 8) is killed by signal: Killed. "), "signal: Killed.", "num_workers"),
        (1, traceback("RuntimeError: DataLoader worker (pid(s) 8) exited unexpectedly"), "unexpectedly", "num_workers"),
        (
            1, traceback('RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "bias". '),
            'ended with RuntimeError: Error(s) in loading state_dict for Net: Missing key(s) in state_dict: "bias".', "traceback",
        ),
        (1, traceback("OSError: [Errno 24] Too many open files: 'f'"), "Too many open files: 'f'", "sharing_strategy"),
    ],
)  # fmt: skip
def test_ends_without_an_exception_of_their_own_are_named(code: int, words: str, cause: str, remedy: str) -> None:
    lost = [log(rank, traceback("RuntimeError: [1] Connection reset by peer"), at=29) for rank in (0, 2)]
    pods = [pod(0, **ended(1, at=29)), pod(1, **ended(code)), pod(2, **ended(1, at=29))]
    (verdict,) = diagnose(failed(*pods, logs=(*lost, log(1, words))), NOW).verdicts
    assert (verdict.id, verdict.ranks, verdict.victims, verdict.confidence) == ("T00", (1,), (0, 2), "certain")
    assert cause in verdict.cause
    assert remedy in verdict.remedy


@pytest.mark.parametrize(
    ("last", "quoted"), [("config: learning_rate must be > 0", ["config: learning_rate must be > 0"]), ("step 6 loss 0.2", [])]
)
def test_the_last_words_of_a_rank_without_an_exception_are_shown_and_no_step(last: str, quoted: list[str]) -> None:
    lost = log(0, traceback("RuntimeError: [1] Connection reset by peer"), at=29)
    (verdict,) = diagnose(
        failed(pod(0, **ended(1, at=29)), pod(1, **ended(1)), logs=(lost, log(1, "step 5", last))), NOW
    ).verdicts
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("T00", (1,), "possible")
    assert [one.text for one in verdict.evidence if one.source == "log"] == quoted


def test_what_failed_is_known_from_events_where_a_job_has_no_record() -> None:
    told = "rank 1, pod j-worker-0, container pytorch: Error, exit code 1. Last log lines:\nKeyError: 'DATASET'"
    evidence = failed(events=[event(v1_job(2)["metadata"]["uid"], RANK_FAILED, told)])
    (verdict,) = diagnose(evidence, evidence.at).verdicts
    assert (verdict.id, verdict.ranks, verdict.cause) == ("T00", (1,), "rank 1 ended with KeyError: 'DATASET'")


def test_the_remedy_of_an_exception_is_a_command_for_its_rank() -> None:
    evidence, _ = CASES["a rank ended with an exception"]
    (verdict,) = diagnose(evidence, evidence.at).verdicts
    assert verdict.remedy == "Read the traceback above that line: shunter logs j -n n --rank 0"


@pytest.mark.parametrize("case", POLICY_CASES.values(), ids=list(POLICY_CASES))
def test_a_policy_is_named_where_it_keeps_the_ranks_apart(case: tuple[list[Json], bool]) -> None:
    specs, is_open = case
    evidence = kept_apart(*specs)
    (found,) = (verdict for verdict in diagnose(evidence, NOW).verdicts if verdict.id == "T07")
    said = ": NetworkPolicy closed selects the pods and does not allow port 23456" in found.cause
    assert (said, found.confidence) == (not is_open, "possible" if is_open else "likely")


def test_no_policy_is_named_that_is_not_about_the_pods_or_of_which_that_is_not_known() -> None:
    of_other_namespaces = ingress({"from": [{"namespaceSelector": {"matchLabels": {"team": "red"}}}]})
    unreadable = ingress({"from": [of_block("10.0.0.0/8", "x")]})
    from_anywhere = kept_apart(ingress({"from": [of_block("::/0")]}), addresses=("fd00::1", "fd00::2"))
    host_network = kept_apart(ingress(), spec={"hostNetwork": True})
    for evidence in (host_network, kept_apart(of_other_namespaces), kept_apart(unreadable), from_anywhere):
        (found,) = (verdict for verdict in diagnose(evidence, NOW).verdicts if verdict.id == "T07")
        assert found.confidence == "possible"


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_the_rules_say_this_and_nothing_else(case: tuple[Evidence, list[str]]) -> None:
    evidence, expected = case
    assert ids(evidence) == expected


@pytest.mark.parametrize(
    ("late", "cause", "ranks"),
    [
        (
            says_nccl(1, made=11),
            "rank 1 has not called allreduce (call number 12 of default_pg), in which ranks 0 and 2 timed out",
            (1,),
        ),
        (
            says_nccl(1, made=11, of="3(mesh_tp)"),
            "ranks 0 and 2 waited in a collective until it timed out; rank 1 did not report it",
            (0, 2),
        ),
        (says_nccl(1, made=13), "ranks 0 and 2 waited in a collective until it timed out; rank 1 did not report it", (0, 2)),
    ],
    ids=["in that group", "in another group", "ahead"],
)
@pytest.mark.parametrize("state", ["runs", "failed"])
def test_a_rank_is_late_by_its_own_count_of_calls_in_the_group_that_timed_out(
    late: Log, cause: str, ranks: tuple[int, ...], state: str
) -> None:
    logs = (says_nccl(0), late, says_nccl(2))
    pods = [pod(rank, **(runs() if state == "runs" else ended(134 if rank != 1 else 143))) for rank in range(3)]
    evidence = seen(*pods, logs=logs) if state == "runs" else failed(*pods, logs=logs)
    (verdict,) = [one for one in diagnose(evidence, NOW).verdicts if one.id == "T14"]
    assert (verdict.cause, verdict.ranks) == (cause, ranks)


@pytest.mark.parametrize(("step", "confidence"), [(True, "likely"), (False, "possible")])
def test_a_timeout_of_a_running_job_without_steps_is_only_possible(step: bool, confidence: str) -> None:
    """That it has gone on since would not show."""
    logs = (says_nccl(0, step=step), says_nccl(1, made=11, step=step), says_nccl(2, step=step))
    (verdict,) = diagnose(seen(*(pod(rank, **runs()) for rank in range(3)), logs=logs), NOW).verdicts
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("T14", (1,), confidence)
    over = diagnose(failed(*(pod(rank, **ended(134)) for rank in range(3)), logs=logs), NOW)
    assert [(one.ranks, one.confidence) for one in over.verdicts if one.id == "T14"] == [((1,), "likely")]


IN_MESH: Json = {"made": 40, "of": "3(mesh_tp)", "op": "ALLGATHER"}


@pytest.mark.parametrize(
    ("others", "cause", "ranks", "confidence"),
    [
        (
            (says_nccl(1, made=11), says_nccl(2), says_nccl(3, **IN_MESH)),
            "rank 1 has not called allreduce (call number 12 of default_pg), in which ranks 0 and 2 timed out",
            (1,),
            "likely",
        ),
        (
            (says_nccl(2), says_nccl(3, **IN_MESH)),
            "ranks 0, 2 and 3 waited in a collective until it timed out; rank 1 did not report it",
            (0, 2, 3),
            "possible",
        ),
        (
            (says_nccl(1, op="BROADCAST"), says_nccl(2), says_nccl(3, **IN_MESH)),
            (
                "ranks timed out in different collectives: rank 1 in broadcast (call number 12), ranks 0 and 2 in allreduce "
                "(call number 12)"
            ),
            (1,),
            "likely",
        ),
        (
            (says_nccl(1, made=11), says_nccl(2, made=39, of="3(mesh_tp)"), says_nccl(3, **IN_MESH)),
            (
                "rank 1 has not called allreduce (call number 12 of default_pg), in which rank 0 timed out; "
                "rank 2 has not called allgather (call number 40 of mesh_tp), in which rank 3 timed out"
            ),
            (1, 2),
            "possible",
        ),
    ],
    ids=["a peer of the late rank waits in another group", "nobody is late", "calls of one group differ", "two are late"],
)
@pytest.mark.parametrize("state", ["runs", "failed"])
def test_only_calls_of_one_process_group_are_compared(
    others: tuple[Log, ...], cause: str, ranks: tuple[int, ...], confidence: str, state: str
) -> None:
    logs = (says_nccl(0), *others)
    if state == "runs":
        running = [{"type": "Running", "status": "True", "reason": "JobRunning", "message": ""}]
        evidence = seen(*(pod(rank, **runs()) for rank in range(4)), job=v1_job(3, conditions=running), logs=logs)
    else:
        over = [{"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "failed"}]
        evidence = failed(*(pod(rank, **ended(134)) for rank in range(4)), job=v1_job(3, conditions=over), logs=logs)
    (verdict,) = [one for one in diagnose(evidence, NOW).verdicts if one.id == "T14"]
    assert (verdict.cause, verdict.ranks, verdict.confidence) == (cause, ranks, confidence)


@pytest.mark.parametrize(
    ("versions", "cause"),
    [
        (("2.27.5", "2.28.9+cuda13.0", "2.28.9"), "rank 0: NCCL version 2.27.5; ranks 1 and 2: NCCL version 2.28.9+cuda13.0"),
        (("2.28.9", "2.28.9+cuda13.0", "2.27.5"), "ranks 0 and 1: NCCL version 2.28.9+cuda13.0; rank 2: NCCL version 2.27.5"),
        (
            ("2.28.9+cuda12.9", "2.28.9+cuda13.0", "2.28.9"),
            "rank 0: NCCL version 2.28.9+cuda12.9; rank 1: NCCL version 2.28.9+cuda13.0",
        ),
    ],
    ids=["the last", "the first", "two fit"],
)
def test_a_rank_that_says_less_of_its_nccl_has_the_only_version_that_fits(versions: tuple[str, ...], cause: str) -> None:
    (verdict,) = diagnose(says_of_nccl(*versions), NOW).verdicts
    assert (verdict.id, verdict.cause) == ("T11", cause)
    assert len(verdict.pods) == len(verdict.evidence) == len(verdict.ranks) == (3 if "2.27.5" in versions else 2)


@pytest.mark.parametrize(("asks", "confidence"), [(ASKS, "likely"), ({}, "possible")], ids=["GPU", "no GPU"])
def test_a_gpu_that_failed_is_only_possibly_the_matter_of_pods_that_ask_for_none(asks: Json, confidence: str) -> None:
    pods = [pod(0, container=asks, **runs()), pod(1, **runs()), pod(2, **runs())]
    (verdict,) = diagnose(seen(*pods, events=[xid(79)]), NOW).verdicts
    assert (verdict.id, verdict.confidence, verdict.ranks) == ("T12", confidence, (0,) if asks else (0, 1, 2))


@pytest.mark.parametrize(
    ("why", "remedy"),
    [
        (NO_EXEC, "Run shunter doctor without --no-exec, so that it can take stacks."),
        (
            "no Python process runs in the containers that train",
            "Look at what the processes do, from inside a pod: kubectl exec -it -n n j-master-0 -- sh",
        ),
    ],
)
def test_where_stacks_were_asked_for_in_vain_nobody_is_told_to_ask_for_them(why: str, remedy: str) -> None:
    evidence, _ = CASES["no line for long, and no work"]
    missing = (Missing(what="stacks", why=why, is_refused=False),)
    (verdict,) = diagnose(msgspec.structs.replace(evidence, missing=missing), NOW).verdicts
    assert (verdict.id, verdict.remedy) == ("S02", remedy)


@pytest.mark.parametrize(("size", "remedy"), [(3, "The number is right: all ranks must use"), (4, "WORLD_SIZE, --nnodes and")])
def test_ranks_that_did_not_join_though_their_number_is_right_have_another_address(size: int, remedy: str) -> None:
    said = f"torch.distributed.DistStoreError: Timed out after 16 seconds waiting for clients. 1/{size} clients joined."
    evidence = failed(pod(0, **ended(1)), pod(1, **runs()), pod(2, **runs()), logs=(log(0, traceback(said)),))
    (verdict,) = diagnose(evidence, NOW).verdicts
    assert (verdict.id, verdict.remedy.startswith(remedy)) == ("T05", True)


def test_a_pod_that_is_gone_without_a_failure_was_probably_deleted() -> None:
    reset = "RuntimeError: [/pytorch/gloo/transport/tcp/pair.cc:553] Connection reset by peer [10.1.0.4]:5120"
    lost = {rank: (pod(rank, **ended(1)), log(rank, traceback(reset))) for rank in (0, 2)}

    def causes(evidence: Evidence) -> list[str]:
        return [f"{one.id} {one.confidence} {one.cause}" for one in diagnose(evidence, NOW).verdicts]

    pods, logs = zip(*lost.values(), strict=True)
    (said,) = causes(failed(*pods, logs=logs))
    assert said.endswith("the pod of rank 1 is gone and no failure of it was recorded: it was probably deleted")
    all_gone = "T90 possible no pod is left and no failure of ranks 0-2 was recorded: the pods were probably deleted"
    assert causes(failed()) == [all_gone]
    over = [{"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "failed"}]
    cleaned = v1_job(2, policy={"cleanPodPolicy": "All"}, conditions=over)
    assert causes(failed(job=cleaned)) == []
    (said,) = causes(failed(*pods, logs=logs, job=cleaned))
    assert said.endswith("the first cause is not visible")
    assert causes(failed(missing=(Missing(what="pods", why="you may not list pods in n"),))) == []


CLAIM = {"persistentVolumeClaim": {"claimName": "weights"}}
HOST = {"hostPath": {"path": "/srv"}}


@pytest.mark.parametrize(
    ("said", "container", "volume", "cause", "remedy"),
    [
        pytest.param(
            [f"{DENIED}: '/data/{rank}.pt'" for rank in range(3)],
            MOUNTED,
            CLAIM,
            "ranks 0-2 are denied access to /data/0.pt, /data/1.pt and 1 more on PersistentVolumeClaim weights"
            " (mounted at /data)",
            "or set fsGroup if the volume supports it.",
            id="files of one claim are one verdict",
        ),
        pytest.param(
            [f"{DENIED}: '7.pt'"],
            {**MOUNTED, "workingDir": "/data"},
            HOST,
            "rank 0 is denied access to /data/7.pt on hostPath data (mounted at /data)",
            "fsGroup does not change who owns a hostPath volume.",
            id="a relative path is in the container's workingDir, and fsGroup does not help on a hostPath",
        ),
        pytest.param(
            [f"{DENIED}: '7.pt'"],
            MOUNTED,
            HOST,
            "rank 0 is denied access to 7.pt",
            "change its owner or mode.",
            id="no volume is accused for a relative path whose directory the image says",
        ),
        pytest.param(
            [f"{DENIED}: '/root/.cache'"],
            MOUNTED,
            CLAIM,
            "rank 0 is denied access to /root/.cache on the container's own file system",
            "change its owner or mode.",
            id="fsGroup does not help outside volumes",
        ),
        pytest.param(
            [f"open('/data/config')\n    save(state, path)\n{SAVE_DENIED}"],
            MOUNTED,
            CLAIM,
            "rank 0 is denied access to a file",
            "change its owner or mode.",
            id="no volume is accused where torch names no path",
        ),
        pytest.param(
            [FULL.partition(":")[0] + ": [Errno 28] No space left on device"],
            MOUNTED,
            CLAIM,
            "rank 0 cannot write: a file system that is not named is full",
            "Free space there, or make the volume larger.",
            id="nor where a message of a full one names none",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_its_place_and_what_helps_there(
    said: list[str], container: Json, volume: Json, cause: str, remedy: str
) -> None:
    spec = {"volumes": [{"name": "data", **volume}]}
    pods = [pod(rank, container=container, spec=spec, **ended(1)) for rank in range(len(said))]
    logs = tuple(log(rank, traceback(text)) for rank, text in enumerate(said))
    evidence = failed(*pods, logs=logs)
    (verdict,) = diagnose(evidence, NOW).verdicts
    assert (verdict.id, verdict.cause) == ("T08", cause)
    assert verdict.remedy.endswith(remedy)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_that_is_disabled_fails_a_recording(rule: Rule) -> None:
    others = tuple(one for one in RULES if one is not rule)
    recorded = [(recording.read(CORPUS / name), own["verdicts"]) for name, own in EXPECTED.items() if rule.id in own["verdicts"]]
    assert recorded, "record this fault: see CONTRIBUTING.md"
    assert any(ids(evidence, others) != expected for evidence, expected in recorded)


WITHHELD = [
    (name, rule, what)
    for name, (evidence, expected) in CASES.items()
    for rule in RULES
    if rule.id in expected
    for what in rule.needs(Case(evidence, NOW))
]


@pytest.mark.parametrize(
    ("name", "rule", "what"), WITHHELD, ids=[f"{name}, {rule.id} without {what}" for name, rule, what in WITHHELD]
)
def test_a_source_that_is_withheld_is_named_with_the_rule(name: str, rule: Rule, what: str) -> None:
    evidence = CASES[name][0]
    gone = (Missing(what=what, why="you may not read them in n"),)
    before = [one for one in diagnose(evidence, NOW).verdicts if one.id == rule.id]
    report = diagnose(msgspec.structs.replace(evidence, missing=gone, **EMPTY[what]), NOW)
    after = [one for one in report.verdicts if one.id == rule.id]
    named = {id for one in report.not_checked for id in one.rules}
    assert rule.id in named or after == before, f"{rule.id} says another thing without {what}, and the report does not tell"
    assert report.exit_code in (1, 3)


def test_the_table_has_each_rule_once_by_the_name_of_its_module() -> None:
    from shunter.doctor import rules

    found = [module.RULE.id for module in rules.MODULES]
    assert found == [module.__name__.rsplit(".", 1)[1][:3].upper() for module in rules.MODULES]
    assert len(set(found)) == len(found)
