#!/usr/bin/env bash
# Prints how many compilers to run at once: one per core, and no more than memory carries (a file that includes
# LibTorch takes up to 2 GB), with the limits of a container counted.
set -euo pipefail
cores=$(nproc)
free_gb=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
if [ "$limit" != max ] && [ $((limit / 1073741824)) -lt "$free_gb" ]; then free_gb=$((limit / 1073741824)); fi
jobs=$((free_gb / 2 < cores ? free_gb / 2 : cores))
echo $((jobs > 1 ? jobs : 1))
