#!/usr/bin/env bash
# What tools of compute-sanitizer say of kernels, for the scripts beside this one.
#   tests/gpu/sanitize_cases.sh build/release/weft [JOBS] <CASES
# A line of CASES has the tools, a tab and the arguments of weft verify. Prints a line a kernel with the errors that each
# tool counts ("?" where it did not come to its end), then "N clean, M not". Exits 1 when one is not clean, or not right.
set -u
weft=$1
jobs=${2:-8}
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

cat >"$work/list"
export weft sanitizer
# Of races, those that are no mere warnings.
# shellcheck disable=SC2016
xargs -P "$jobs" -d '\n' -n 1 bash -c '
  line="" verdict=clean tools=${1%%$'\''\t'\''*} arguments=${1#*$'\''\t'\''}
  for tool in $tools; do
    said=$(timeout 300 "$sanitizer" --tool "$tool" --print-limit 3 "$weft" verify $arguments 2>&1)
    code=$?
    errors=$(printf "%s\n" "$said" | sed -n -e "s/.*RACECHECK SUMMARY: .*(\([0-9]*\) error.*/\1/p" \
      -e "s/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p" | tail -n 1)
    line="$line $tool ${errors:-?}"
    if [ "$code" -eq 0 ] && [ "${errors:-?}" = 0 ]; then continue; fi
    [ "$verdict" = "NOT CLEAN" ] || printf "%s, exit code %s, %s:\n%s\n" "$tool" "$code" "$arguments" "$(printf "%s\n" "$said" | head -n 30)"
    verdict="NOT CLEAN"
  done
  printf "%s |%s | %s\n" "$arguments" "$line" "$verdict"' _ <"$work/list" | tee "$work/out"

clean=$(grep -c '| clean$' "$work/out")
all=$(wc -l <"$work/list")
echo "$clean clean, $((all - clean)) not"
[ "$clean" -eq "$all" ]
