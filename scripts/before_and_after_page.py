"""docs/migration/before-and-after.md: an example of each kind of v1 job beside what `shunter migrate convert` makes of it."""

from __future__ import annotations

from pathlib import Path

from shunter.migrate.conversion import batch
from shunter.migrate.conversion.emit import files
from shunter.migrate.conversion.emit.sizes import sizes
from shunter.migrate.conversion.provenance import MADE_BY
from shunter.migrate.conversion.rules.profiles import SHORTER
from shunter.migrate.conversion.sharing import shared_in
from shunter.migrate.conversion.source.provider import read
from shunter.migrate.options import Options

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "v1"
PAIRS: tuple[tuple[str, str, Options], ...] = (
    ("PyTorchJob", "pytorch-mnist.yaml", Options()),
    ("PyTorchJob, shorter", "pytorch-distributed-ddp.yaml", Options(profile="idiomatic", torch_launch="torchrun")),
    ("TFJob", "tfjob-multiworker.yaml", Options()),
    ("MPIJob", "mpijob-allreduce.yaml", Options(accepted=("MPI001",))),
    ("XGBoostJob", "xgboostjob.yaml", Options()),
    ("JAXJob", "jaxjob-psum.yaml", Options()),
    ("PaddleJob", "paddlejob-collective.yaml", Options()),
)
_HEAD = """\
# Before and after

One example of each kind of v1 job, and what `shunter migrate convert` makes of it. This page is generated from `examples/v1`
(`scripts/generate.py`), so it shows what the tool does. The numbers of lines count what is neither blank nor a comment.

Jobs that are converted in one run share runtimes: what they have in common is in the runtime, what differs in each
TrainJob. So the runtime shown here with one job is written once for all such jobs.
[Benchmarks](../benchmarks.md#length-of-results) has the figures for many jobs together.
"""


def before_and_after_page() -> bytes:
    return (_HEAD + "".join(_pair(*pair) for pair in PAIRS)).encode()


def _pair(title: str, name: str, options: Options) -> str:
    path = EXAMPLES / name
    given = read([str(path)])
    converted = shared_in(given, batch.converted(given.convertible, options, [source.value for source in given.others]))
    after = files.stream(given, converted).replace(MADE_BY, "shunter/VERSION")
    command = " ".join(["shunter migrate convert", *_flags(options), f"examples/v1/{name}"])
    return f"""
## {title}

    {command}

{_condition(options)}{sizes(converted, [after])}.

```yaml
{path.read_text().strip()}
```

becomes

```yaml
{after.strip()}
```
"""


def _flags(options: Options) -> list[str]:
    flags = [] if options.profile == "auto" else [f"--profile={options.profile}"]
    flags += [] if options.torch_launch == "auto" else [f"--torch-launch={options.torch_launch}"]
    return [*flags, *(f"--accept {id}" for id in options.accepted)]


def _condition(options: Options) -> str:
    """Under which condition a shorter form trains the same."""
    told = [SHORTER[flag] for flag in _flags(options) if flag in SHORTER]
    return f"It trains the same if {', and if '.join(told)}. " if told else ""
