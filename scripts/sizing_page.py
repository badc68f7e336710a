"""docs/sizing.md and docs/sizing-accuracy.md with their tables made anew: what stands between two marks is computed."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from shunter.sizing import SizeOptions, size
from shunter.sizing.fits import ABOVE, ABOVE_QLORA, ABOVE_TP, BELOW
from shunter.sizing.instances import known_gpus, known_instances
from shunter.sizing.report import report
from shunter.sizing.shapes import active_count, known_models

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
PAGES = (Path("docs/sizing.md"), Path("docs/sizing-accuracy.md"))
SEEDS = TESTS / "sizing" / "seed_rows.yaml"
_BLOCK = re.compile(r"(<!-- made: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def sizing_pages() -> dict[Path, bytes]:
    """The pages as they should be."""
    return {page: _page((ROOT / page).read_text()) for page in PAGES}


def _page(text: str) -> bytes:
    return _BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found[2]]()}\n{found[3]}", text).encode()


def answer() -> str:
    """What the command prints for the model that everybody asks about."""
    lines = report(size("Llama-3.1-8B"), 120)
    return "\n".join(["    $ shunter size Llama-3.1-8B", *(f"    {line}" for line in lines)])


def measured() -> str:
    rows = []
    for one in _measurements():
        row = one.row
        published = f"{row['published']:g} {row['unit']}" if "published" in row else ("ran" if row["ran"] else "out of memory")
        error = "" if one.error is None else f"{one.error:+d} %"
        device = f"{row['device_mib'] / 1024:.0f} GiB: {one.verdict}" if one.verdict else ""
        mark = "fitted" if row.get("fitted") else ""
        rows.append((row["name"], row["source"], published, f"{one.computed:.1f}", error, device, mark))
    return _table(("training", "source", "published", "formula", "error", "device: verdict", ""), rows)


def sources() -> str:
    from sizing.measured import sources as known

    rows = [(name, source["where"], str(source["date"]), source["of"]) for name, source in known().items()]
    return _table(("source", "where", "date", "what is measured"), rows)


def hit_rate() -> str:
    rows = _measurements()
    verdicts = Counter((one.verdict, one.row["ran"]) for one in rows if one.verdict)
    fits = [one for one in rows if one.verdict == "fits"]
    ran = sum(one.row["ran"] for one in fits)
    fitted = sum(bool(one.row.get("fitted")) for one in fits)
    held_out = [one for one in rows if not one.row.get("fitted") and one.error is not None and one.verdict not in ("", "unknown")]
    within = sum(one.is_within_band for one in held_out)
    errors = sorted(abs(one.error) for one in held_out)
    out = sum(one.row.get("ran") is False for one in rows)
    table = _table(
        ("verdict", "ran", "out of memory"),
        [(name, str(verdicts[name, True]), str(verdicts[name, False])) for name in ("fits", "tight", "no", "unknown")],
    )
    lines = [
        f"Of {len(fits)} training runs that `shunter size` says fit, {ran} ran; on {fitted} of them the formulas were made.",
        f"Only {out} of the [measurements](sizing-accuracy.md#measurements) ran out of memory: people publish what ran,",
        "so this rate is flattering.",
        f"Of {len(held_out)} measurements on which the formulas were not fitted, {within} lie within the band;",
        f"half of the errors are at most {errors[(len(errors) - 1) // 2]} %, the largest is {errors[-1]} %.",
    ]
    return "\n".join([*lines, "", table])


def band() -> str:
    ends = f"with tensor parallelism to {ABOVE_TP:.0%}, with QLoRA to {ABOVE_QLORA:.0%}"
    return f"The band reaches from {BELOW:.0%} below the formula to {ABOVE:.0%} above it; {ends}."


def seed_rows() -> str:
    """The rows of the usual table of model sizes and machines, each asked of the command."""
    rows = []
    for row in yaml.safe_load(SEEDS.read_text()):
        found = size(row["model"], SizeOptions(nodes=row["nodes"], **row["options"]), on=row["machine"])
        choice = found.choices[0].choice
        words = [f"{row['nodes']} x {row['machine']}", *(f"{key} {value}" for key, value in row["options"].items())]
        said = f"{choice.memory.total / 2**30:.1f} of {choice.usable / 2**30:.1f} GiB"
        rows.append((row["row"], row["model"], ", ".join(words), choice.verdict, choice.reason or said))
    return _table(("row", "model", "asked", "verdict", "why"), rows)


def models() -> str:
    rows = []
    for model in known_models().values():
        shape = model.shape
        active = f"{active_count(shape):,}" if shape.experts else ""
        rows.append((shape.name, f"{shape.total:,}", active, model.source))
    return _table(("model", "parameters", "active", "config.json of"), rows)


def machines() -> str:
    rows = []
    for one in known_instances().values():
        allocatable = f"{one.cpu:g} cores, {one.memory_mib:,} MiB" if one.memory_mib else "not published"
        rows.append(
            (
                one.provider,
                one.name,
                f"{one.gpus} x {one.gpu.name}",
                f"{one.gpu.memory_mib:,} MiB",
                allocatable,
                str(one.efa or ""),
            )
        )
    return _table(("cloud", "type", "GPUs", "memory a GPU", "for pods", "EFA"), rows)


def speeds() -> str:
    rows = []
    for gpu in known_gpus().values():
        if gpu.mfu and gpu.mfu_long:
            short, long = (f"{low * 100:.0f}-{high * 100:.0f} %" for low, high in (gpu.mfu, gpu.mfu_long))
            rows.append((gpu.name, f"{gpu.tflops:g}", short, long, f"{gpu.mfu_gbps:g}"))
    return _table(("GPU", "peak, TFLOP/s", "MFU", "beyond 16,384 tokens", "Gbit/s a machine"), rows)


def _measurements() -> list[Any]:
    if str(TESTS) not in sys.path:
        sys.path.append(str(TESTS))
    from sizing.measured import measurements

    return measurements()


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


BLOCKS: dict[str, Callable[[], str]] = {
    "answer": answer,
    "band": band,
    "hit-rate": hit_rate,
    "machines": machines,
    "measured": measured,
    "models": models,
    "seed-rows": seed_rows,
    "sources": sources,
    "speeds": speeds,
}
