"""What logs of common trainers tell."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shunter.errors import InputError
from shunter.jobs.logs.metrics import LogReader, log_report, metric_pattern
from shunter.jobs.metrics import Process

LINES = {
    "PyTorch's MNIST example": ("Train Epoch: 2 [640/60000 (1%)]\tloss=2.2975", {"loss": ((2, 640), 2.2975)}),
    "PyTorch's MNIST test": (
        "Test set: Average loss: 0.0499, Accuracy: 9841/10000 (98%)",
        {"average_loss": ((1,), 0.0499), "accuracy": ((1,), 9841)},
    ),
    "PyTorch's ImageNet example": (
        "Epoch: [0][ 10/5005]\tTime  0.3 ( 0.5)\tLoss 6.91e+00 (7.0e+00)\tAcc@1   0.39 (  0.25)",
        {"loss": ((0, 10), 6.91), "acc@1": ((0, 10), 0.39)},
    ),
    "timm": ("Train: 3 [  50/1251 (  4%)]  Loss: 6.9 (6.91)  Time: 0.3s, 300.2/s  LR: 1e-4", {"loss": ((3, 50), 6.9)}),
    "Hugging Face": (
        "{'loss': 0.5, 'grad_norm': 1.25, 'learning_rate': 2e-05, 'epoch': 0.25}",
        {"loss": ((0.25,), 0.5), "grad_norm": ((0.25,), 1.25), "learning_rate": ((0.25,), 2e-05)},
    ),
    "JSON": ('{"step": 7, "loss": 0.25, "host": "a"}', {"loss": ((7,), 0.25)}),
    "torchtitan": (
        "[titan] - step: 10  loss:  4.0123  memory:  1.2GiB(3%)  tps: 1,234  mfu: 12.3%",
        {"loss": ((10,), 4.0123), "throughput": ((10,), 1234)},
    ),
    "Megatron": (
        " iteration       10/     100 | consumed samples: 80 | elapsed time per iteration (ms): 123.4 | lm loss: 1.05E+01 |",
        {"lm_loss": ((10,), 10.5)},
    ),
    "DeepSpeed": (
        "steps: 10 loss: 4.2000 iter time (s): 0.123 samples/sec: 65.0",
        {"loss": ((10,), 4.2), "throughput": ((10,), 65.0)},
    ),
    "torchtune": ("1|25|Loss: 1.5: 100%|####| 25/25", {"loss": ((1, 25), 1.5)}),
    "Lightning": (
        "Epoch 1:  50%|#####     | 100/200 [00:10<00:10, 9.8it/s, v_num=0, train_loss=0.3]",
        {"train_loss": ((1, 100), 0.3), "throughput": ((1, 100), 9.8)},
    ),
    "XGBoost": ("[10]\ttrain-rmse:0.123\teval-rmse:0.456", {"train_rmse": ((10,), 0.123), "eval_rmse": ((10,), 0.456)}),
    "LightGBM": ("[20]\tvalid_0's binary_logloss: 0.5", {"binary_logloss": ((20,), 0.5)}),
    "an estimator of TensorFlow": ("INFO:tensorflow:loss = 0.123, step = 100 (0.5 sec)", {"loss": ((100,), 0.123)}),
    "PyTorch's tutorials": ("Epoch [2/10], Step [100/600], Loss: 0.2567", {"loss": ((2, 100), 0.2567)}),
    "an iteration of an epoch": ("Epoch 1, Iteration 5, loss 0.3", {"loss": ((1, 5), 0.3)}),
    "PyTorch's word_language_model example": (
        "| epoch   1 |   200/ 2983 batches | lr 5.00 | ms/batch 13.32 | loss  7.16 | ppl  1290.40",
        {"loss": ((1, 200), 7.16), "ppl": ((1, 200), 1290.4)},
    ),
    "quantities with units": ("step=10 loss=0.5 dt=152.31ms used=3.4GB host=10.0.3.17 v=1.2.3", {"loss": ((10,), 0.5)}),
    "a structured logger": ('{"step": 3, "loss": 0.2, "run_id": "12345", "thread": 1403, "dt": 0.15}', {"loss": ((3,), 0.2)}),
    "a template": ("chat template: {{ '<s>' }}", {}),
    "braces written twice": ("config {{'lr': 0.1}}", {}),
    "key=value": ("step=3 loss=0.5 margin=1.5 rank=0 world_size=2 seconds=3", {"loss": ((3,), 0.5), "margin": ((3,), 1.5)}),
    "epochs only": ("Epoch 0 completed. Average loss: 2.3026", {"average_loss": ((0,), 2.3026)}),
    "colours": ("\x1b[32mstep=1\x1b[0m loss=\x1b[31m0.5\x1b[0m", {"loss": ((1,), 0.5)}),
    "JSON nested too deeply": ('{"a":' * 1_500 + "1" + "}" * 1_500, {}),
    "a tensor": ("step 4 loss tensor(0.5, device='cuda:0')", {"loss": ((4,), 0.5)}),
    "a port": ("listening on port=29500, MASTER_PORT: 23456, took 3.5 seconds", {}),
    "a file": ("loading weights from /data/loss-3.pt", {}),
}


@pytest.mark.parametrize(("line", "expected"), LINES.values(), ids=LINES)
def test_a_line_tells_its_metrics_and_where_they_were_taken(
    line: str, expected: dict[str, tuple[tuple[float, ...], float]]
) -> None:
    found = {series.name: series.points[0] for series in log_report([line], pod="node-0", rank=0).series}
    assert {name: (point.at, point.value) for name, point in found.items()} == expected


def test_steps_of_keras_belong_to_the_epoch_above_them() -> None:
    lines = ["Epoch 1/2", "10/10 - 2s - loss: 0.9", "Epoch 2/2", "10/10 - 2s - loss: 0.4 - accuracy: 0.8"]
    loss, accuracy = log_report(lines, pod="worker-0", rank=0).series
    assert [(point.at, point.value) for point in loss.points] == [((1, 10), 0.9), ((2, 10), 0.4)]
    assert accuracy.final == 0.8


CLAIMS = {
    "Rank 1/4 initialized (gloo on cpu)": (1, 4),
    "rank=2 world_size=3": (2, 3),
    "[rank 0] world size: 8": (0, 8),
    "world_size=4, rank=3": (3, 4),
    "Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/2": (1, 2),
    "I am rank 0 of 2": (0, 2),
    "process 1 of 2 sees 2 devices": (1, 2),
    "process_index=1 process_count=4": (1, 4),
    "World size: 16": (None, 16),
}


@pytest.mark.parametrize(("line", "place"), CLAIMS.items(), ids=CLAIMS)
def test_a_process_says_its_place_among_the_others(line: str, place: tuple[int | None, int]) -> None:
    assert log_report([line], pod="node-0", rank=0).processes == (Process(pod="node-0", rank=place[0], world_size=place[1]),)


@pytest.mark.parametrize("line", ["local rank 0 of 2", "local_rank=1 world_size_hint", "batch 3 of 4", "wrote 3/4 files"])
def test_other_counts_are_no_place(line: str) -> None:
    assert log_report([line], pod="node-0", rank=0).processes == ()


def test_several_processes_of_a_pod_are_told_apart_by_the_rank_in_their_lines() -> None:
    series = log_report(["rank=2 step=1 loss=0.5", "rank=3 step=1 loss=0.7"], pod="node-1", rank=1).series
    assert [(one.rank, one.final) for one in series] == [(2, 0.5), (3, 0.7)]


def test_a_step_that_is_told_again_after_a_restart_counts_once() -> None:
    (loss,) = log_report(["step=1 loss=9", "step=2 loss=8", "step=1 loss=9", "step=2 loss=7"], pod="node-0", rank=0).series
    assert [(point.at, point.value) for point in loss.points] == [((1,), 9.0), ((2,), 7.0)]


@pytest.mark.parametrize("place", ["step={} ", ""], ids=["with steps", "counted"])
def test_a_log_without_end_keeps_what_is_new_and_the_extremes_of_what_is_old(place: str) -> None:
    reader = LogReader("node-0", 0, (), most_points=400)
    odd = {300: "99.5", 700: "nan", 5000: "0.125"}
    for step in range(1, 10_001):
        reader.read(f"{place.format(step)}loss={odd.get(step, '1.5')}")
    (loss,) = reader.report().series
    at, values = [point.at[0] for point in loss.points], [point.value for point in loss.points]
    assert len(at) <= 400
    assert at == sorted({*at})
    assert (at[0], at[-200:]) == (1, [*range(9801, 10_001)])
    assert {at[values.index(value)] for value in (99.5, None, 0.125)} == {*odd}


def test_all_points_are_kept_unless_a_limit_is_set() -> None:
    (loss,) = log_report((f"step={step} loss=1.5" for step in range(10_000)), pod="node-0", rank=0).series
    assert len(loss.points) == 10_000


def test_what_a_log_told_is_put_together_once_for_each_line() -> None:
    reader = LogReader("node-0", 0, ())
    reader.read("step=1 loss=2.5")
    first = reader.report()
    assert reader.report() is first
    reader.read("step=2 loss=1.5")
    assert [point.value for point in reader.report().series[0].points] == [2.5, 1.5]


def test_values_without_a_step_are_counted() -> None:
    (loss,) = log_report(["loss: 3.0", "loss: 2.0"], pod="node-0", rank=0).series
    assert loss.is_counted
    assert [point.at for point in loss.points] == [(1,), (2,)]


def test_times_of_the_kubelet_say_when_the_first_step_was_done() -> None:
    lines = [
        "2026-11-21T10:00:00.123456789Z seed=7",
        "2026-11-21T10:00:05.5Z step=1 loss=3",
        "2026-11-21T10:00:06Z step=2 loss=nan",
    ]
    found = log_report(lines, pod="node-0", rank=0)
    assert found.first_step == datetime(2026, 11, 21, 10, 0, 5, 500000, tzinfo=UTC)
    assert found.seed == "7"
    assert found.series[0].final is None


@pytest.mark.parametrize(
    "line",
    [
        "{'loss': nan, 'grad_norm': inf, 'step': 5}",
        '{"loss": NaN, "grad_norm": -Infinity, "is_best": false, "step": 5}',
        "{'loss': nan, \"grad_norm\": -inf, 'step': 5}",
    ],
)
def test_values_of_a_mapping_that_are_not_finite_are_of_its_step(line: str) -> None:
    """Such a line has no JSON or Python literal: a series `'loss` began, and the step was lost."""
    found = log_report(['{"loss": 2.5, "grad_norm": 1.5, "step": 4}', line], pod="node-0", rank=0).series
    assert {one.name: [(point.at, point.value) for point in one.points] for one in found} == {
        "loss": [((4,), 2.5), ((5,), None)],
        "grad_norm": [((4,), 1.5), ((5,), None)],
    }


def test_numbers_that_a_user_s_pattern_finds_may_have_commas() -> None:
    pattern = metric_pattern(r"loss=at (?P<step>[\d,]+) it is (?P<value>[\d.,]+)")
    (loss,) = log_report(["at 1,000 it is 1,234.5", "at , it is ,"], pod="node-0", rank=0, extra=[pattern]).series
    assert [(point.at, point.value) for point in loss.points] == [((1000,), 1234.5)]


def test_a_user_names_metrics_that_no_pattern_knows() -> None:
    extra = [metric_pattern("quality"), metric_pattern("energy=at (?P<step>\\d+): E is (?P<value>[-.\\d]+)")]
    series = log_report(["quality: 0.5", "at 12: E is -7.25"], pod="node-0", rank=0, extra=extra).series
    assert [(one.name, one.points[0].at, one.final) for one in series] == [("quality", (1,), 0.5), ("energy", (12,), -7.25)]


@pytest.mark.parametrize("text", ["loss=(", "loss=abc", "=x"])
def test_a_metric_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--metric"):
        metric_pattern(text)
