#!/bin/sh
# What compute-sanitizer says of the kernels of the simulator's mutation test, and of some mutants, beside what the
# simulator says. Fails when a tool reports a correct kernel, or when no tool reports one of the mutants.
# usage: sanitize_mutants.sh GPU_MUTANTS [FOLDER_OF_PTX]
set -u
program=$1
folder=${2:-$(dirname "$0")/../backends/simulator/mutants}
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
tools="memcheck racecheck synccheck initcheck"
failures=0

# Errors, or hazards of shared memory; "?" where the tool did not come to its end.
count() {
  text=$(timeout 120 "$sanitizer" --tool "$1" --print-limit 1 "$program" "$folder" "$2" "$3" 2>&1)
  number=$(printf '%s\n' "$text" |
    sed -n -e 's/.*RACECHECK SUMMARY: \([0-9]*\) hazard.*/\1/p' -e 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p' |
    tail -n 1)
  printf '%s' "${number:-?}"
}

# kernel, mutant or "-", what the simulator says
examine() {
  line=""
  reported=0
  unknown=0
  for tool in $tools; do
    number=$(count "$tool" "$1" "$2")
    line="$line $tool $number"
    case $number in
      0) ;;
      '?') unknown=1 ;;
      *) reported=1 ;;
    esac
  done
  result=$("$program" "$folder" "$1" "$2" 2>&1 | tail -n 1)
  verdict=agrees
  if [ "$2" = - ]; then
    if [ $reported = 1 ] || [ $unknown = 1 ] || [ "$result" != right ]; then verdict=DIFFERS; fi
  elif [ $reported = 0 ]; then
    verdict=DIFFERS
  fi
  [ $verdict = agrees ] || failures=$((failures + 1))
  printf '%s / %s | simulator: %s | GPU: %s |%s | %s\n' "$1" "$2" "$3" "$result" "$line" "$verdict"
}

list=$("$program" --list) || exit 2
printf '%s\n' "$list" | grep -v "$(printf '\t')" >"${TMPDIR:-/tmp}/kernels.$$"
while read -r kernel; do
  examine "$kernel" - clean </dev/null
done <"${TMPDIR:-/tmp}/kernels.$$"
rm -f "${TMPDIR:-/tmp}/kernels.$$"

# Bugs of the kinds that these tools look for; most of the others they do not see.
examine tile_product "no barrier" race
examine tile_product "fills one buffer" race
examine tile_product "a row of A too many" "out of bounds"
examine tile_product "a row of C too many" "out of bounds"
examine block_sum "no barrier after the parts" race
examine block_sum "one part for all warps" race
examine half_product "no barrier after reading" race
examine sparse_product "no barrier" race
examine split_sum "a row too many" "out of bounds"
examine split_sum "no barrier after the flag" race
examine split_sum "all blocks add the parts" "unwritten memory"
examine named_barriers "reads a place before" "out of bounds"
echo "$failures differ"
[ "$failures" = 0 ]
