"""Runs lm.py with the arguments after FILE, and writes what it took of the GPU to FILE: `measured_lm.py FILE lm.py ARGUMENTS`."""

from __future__ import annotations

import json
import runpy
import sys
import time
from pathlib import Path

import torch

result, program, *arguments = sys.argv[1:]
sys.argv = [program, *arguments]
sys.path.insert(0, str(Path(program).parent))
started = time.time()
try:
    runpy.run_path(program, run_name="__main__")
finally:
    if torch.cuda.is_available():
        memory = {
            "allocated": torch.cuda.max_memory_allocated(),
            "reserved": torch.cuda.max_memory_reserved(),
            "device": torch.cuda.get_device_name(),
        }
        Path(result).write_text(json.dumps({"torch": torch.__version__, "started": started, **memory}))
