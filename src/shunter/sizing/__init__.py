"""What a training needs: memory a GPU by terms, the machines on which it fits, how long it takes, and the manifests for it.

    from shunter.sizing import SizeOptions, size

    result = size("Llama-3.1-8B", SizeOptions(seq=4096))
    result.choices[0].verdict, result.needs.memory.total       # "fits", bytes a GPU

shapes.py, config_json.py     models, by models.yaml or their config.json
formulas.py                   bytes by term, operations a token; throughput.py: how long it takes
fits.py, suggestions.py       the verdicts (fits, tight, no); what to change when nothing fits
instances.py, nodes.py, prices.py    machines (instances.yaml, gpus.yaml), those of a cluster, and what they cost
options.py, model_options.py  what is asked; defaults and limits by model
sizing.py, report.py          the estimate; as text
manifests/                    what is applied

Pure but for reading a config.json, prices and the nodes of a cluster; docs/sizing.md says how far off the formulas were against
published measurements.

Tests: tests/sizing; the formulas against published measurements in test_measurements.py there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.lazy_names import lazy_names
from shunter.sizing.options import ManifestOptions, SizeOptions

if TYPE_CHECKING:
    from shunter.sizing.sizing import Sizing, size

__all__ = ["ManifestOptions", "SizeOptions", "Sizing", "size"]
# The command's help needs the options alone, and neither data nor arithmetic.
__getattr__ = lazy_names(__name__, {"Sizing": "sizing", "size": "sizing"})
