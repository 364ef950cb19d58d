#!/bin/sh
# Run a lane's tox environment on the checkout mounted at /checkout, leave its reports in /reports. Arguments go to
# pytest. The image names the environment (QRITA_ENVIRONMENT) and the target that is promised (QRITA_TARGET; empty: none).
set -eu
stop() {
    echo "qrita image: $1; \`docker/run $QRITA_TARGET\` mounts both" >&2
    exit 2
}
[ -d /checkout ] || stop "nothing is mounted at /checkout; expected the repository, as in --volume \"\$PWD:/checkout:ro\""
[ -r /checkout/tox.ini ] || stop "/checkout has no tox.ini that user $(id -u) can read; expected the repository"
[ -d /reports ] || stop "nothing is mounted at /reports; expected a folder for reports, as in --volume \"\$PWD/reports:/reports\""
[ -w /reports ] || stop "/reports is not writable for user $(id -u); expected its owner's id, as in --user \"\$(id -u):\$(id -g)\""

here=$(dirname "$0")
pins=$(basename "$here"/*.txt)
if ! cmp -s "$here/$pins" "/checkout/ci/stacks/$pins"; then
    echo "qrita image: the checkout's ci/stacks/$pins is not the one that this image was built from; what differs is" \
        "downloaded now, which can be gigabytes. \`docker/run $QRITA_TARGET --build\` makes the image anew" >&2
fi

# What is written besides the reports is written here: the checkout may be read-only, the user's id may have no home.
work=$(mktemp -d)
export HOME="$work" QRITA_REPORTS=/reports VIRTUALENV_SYSTEM_SITE_PACKAGES=true
exec "$here/tox/bin/tox" run --conf /checkout/tox.ini --workdir "$work/tox" -e "$QRITA_ENVIRONMENT" -- "$@"
