#!/bin/sh
# stack.sh STACK.txt [WHEELS]: put a torch stack into the image's own Python. WHEELS, an index or a folder, takes the
# place of the index that the file names.
#
# Into Python itself, not into a tox environment made ahead: the lane's environment sees it (entrypoint.sh), finds its
# pins satisfied and downloads only the tools, a few MB. A ready environment would have to be writable for whoever runs
# the image, and tox would throw it away, gigabytes included, whenever the checkout changes the pin of any tool.
set -eu
file=$1 wheels=${2:-}
pins=$(mktemp)
grep -v '^--index-url' "$file" >"$pins"
case ${wheels:=$(sed -n 's/^--index-url *//p' "$file")} in
'') set -- ;; # a CPU stack: from where pip's own configuration says
*://*) set -- --isolated --index-url "$wheels" ;;
*) set -- --isolated --no-index --find-links "$wheels" ;;
esac
[ $# = 0 ] || export PIP_CONFIG_FILE=/dev/null # one source, as in the lane: --isolated leaves out the variables only
# --break-system-packages: this Python is the image's own, also where the base is a Debian that guards it.
python3 -m pip install --no-cache-dir --root-user-action=ignore --break-system-packages "$@" --requirement "$pins"
rm "$pins"
