#!/bin/sh
# What every image has of Debian, and its user. No versions: the base pins the release, whose archive keeps only the
# newest build of a package, so that a pin breaks with each security update; no answer depends on these.
set -eu
apt-get update
# gcc and libc6-dev: Triton compiles its launcher at run time. git: a lane's report names the commit. tini: see the
# Dockerfiles' entry point; it hands signals on and reaps what tests leave behind.
apt-get install -y --no-install-recommends gcc git libc6-dev tini
rm -rf /var/lib/apt/lists/*
useradd --uid 1000 --create-home qrita
