#!/bin/sh
# Does the next extraction fit, and if not, what is the cheapest thing to give up? Deletes nothing by itself.
# Usage: before-extraction.sh TOKENS VOLUME, such as: before-extraction.sh 87.8M /data
set -eu

plan=$(mktemp --suffix=.json)
trap 'rm -f "$plan"' EXIT

if artifactctl plan extraction --tokens "$1" --volume "$2" --out "$plan"; then
    echo "It fits, or does once the plan above is carried out."
fi
artifactctl reclaim --for "$plan" --dry-run
