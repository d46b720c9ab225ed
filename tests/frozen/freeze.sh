#!/usr/bin/env bash
# What recipes make of all problems of suites, in one file: twice, before a change and after it, and a diff.
#   tests/frozen/freeze.sh FROZEN_KERNELS OUT SUITE...
# FROZEN_KERNELS is the test's executable. As many parts run side by side as there are processors.
set -euo pipefail
program=$1
out=$2
shift 2
parts=$(nproc)
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
running=()
for ((part = 0; part < parts; ++part)); do
  "$program" --part "$part/$parts" "$@" >"$folder/$part" &
  running+=($!)
done
for process in "${running[@]}"; do wait "$process"; done
sort -u "$folder"/* >"$out"
echo "$(grep -c '"code"' "$out") kernels in $out"
