"""The operator as a child of an embedded cluster: what `shunter operator` runs, without the libraries of the command line.

    python -m shunter.operator OPTIONS

OPTIONS are the fields of OperatorOptions as JSON.
"""

from __future__ import annotations

import sys

import msgspec

from shunter.errors import ShunterError
from shunter.operator.process import OperatorOptions, serve


def main(options: str) -> int:
    """Runs the operator until it is stopped. Returns the exit code; an error is printed to stderr with its remedy."""
    try:
        serve(msgspec.json.decode(options, type=OperatorOptions, dec_hook=lambda wanted, value: wanted(value)))
    except ShunterError as error:
        print(f"{error.message} {error.remedy}".strip(), file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
