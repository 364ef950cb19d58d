#!/bin/sh
# Put tox, as ci/matrix.toml pins it, into a virtual environment of its own. QRITA_INDEX: a mirror of PyPI.
set -eu
here=$(dirname "$0")
version=$(python3 -c 'import sys, tomllib; print(tomllib.load(sys.stdin.buffer)["tox"])' <"$here/matrix.toml")
python3 -m venv "$here/tox"
"$here/tox/bin/python" -m pip install --no-cache-dir ${QRITA_INDEX:+--index-url "$QRITA_INDEX"} "tox==$version"
