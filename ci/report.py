"""`qrita report` for a CI job that has Python and nothing else: no torch, no package installed.

python ci/report.py merge DIR... --expected jobs.json -o summary.md
"""

from __future__ import annotations

import argparse
import sys
import types
from pathlib import Path

# A package of that name whose parts can be imported, and whose __init__, which imports torch, is not run.
qrita = types.ModuleType("qrita")
qrita.__path__ = [str(Path(__file__).resolve().parent.parent / "src" / "qrita")]
sys.modules["qrita"] = qrita

from qrita.report import command  # noqa: E402  it has to come after


def main() -> int:
    parser = argparse.ArgumentParser(prog="ci/report.py", description=__doc__.partition("\n")[0], allow_abbrev=False)
    command.add_arguments(parser)
    return command.run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
