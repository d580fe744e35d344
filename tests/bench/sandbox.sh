#!/usr/bin/env bash
# Run a command in a namespace that is thrown away with everything in it: tests/bench/sandbox.sh COMMAND...
#
# Mounts, loop devices, processes, network names and the host name made inside are gone when the command ends, also
# when it is killed. Nothing inside can reach a network, and every process inside can be inspected. Without root or
# loop devices the command runs unprotected, which is safe since the system tests then refuse to run.
set -euo pipefail

if [ "$(id -u)" != 0 ] || [ ! -e /dev/loop-control ]; then
    echo "sandbox: no root or no loop devices here, running without a sandbox" >&2
    exec "$@"
fi

# The shell stays as process 1 instead of becoming the command: it collects orphans, which else stay as zombies.
exec unshare --mount --pid --fork --net --uts --mount-proc --kill-child --propagation private bash -c '
    mount -t tmpfs -o mode=755 sandbox-run /run
    mkdir -p /run/lock /run/netns /run/sshd /run/tmp
    # Temporary files in memory: most of the time of a test run on a disk is spent in the fsync of SQLite.
    mount -t tmpfs -o mode=1777,size=50% sandbox-tmp /run/tmp
    export TMPDIR=/run/tmp
    ip link set lo up
    ARTIFACTCTL_SANDBOX=$(readlink /proc/self/ns/mnt) "$@"
    exit $?' sandbox "$@"
