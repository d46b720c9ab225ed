#!/bin/sh
# What compute-sanitizer says of the kernels of the simulator's mutation test, and of some mutants, beside what the
# simulator says. Fails when a tool reports an error of a correct kernel, or when no tool reports one of the mutants.
# Three kernels have an order that racecheck does not follow; each has a twin with the same order in a form that it
# does follow, among the correct kernels.
# usage: sanitize_mutants.sh GPU_MUTANTS [FOLDER_OF_PTX [KERNELS_AT_A_TIME]]
set -u
program=$1
folder=${2:-$(dirname "$0")/../backends/simulator/mutants}
jobs=${3:-4}
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
tools="memcheck racecheck synccheck initcheck"
found=$(mktemp -d) || exit 2
trap 'rm -rf "$found"' EXIT
number=0

# Errors; of hazards in shared memory those that are no mere warnings; "?" where the tool did not come to its end.
count() {
  text=$(timeout 120 "$sanitizer" --tool "$1" --print-limit 1 "$program" "$folder" "$2" "$3" 2>&1)
  reported=$(printf '%s\n' "$text" |
    sed -n -e 's/.*RACECHECK SUMMARY: .*(\([0-9]*\) error.*/\1/p' -e 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p' |
    tail -n 1)
  printf '%s' "${reported:-?}"
}

# kernel, mutant or "-", what the simulator says; the line goes to a file of its own
examine() {
  number=$((number + 1))
  examine_one "$@" >"$found/$(printf '%03d' "$number")" </dev/null &
  [ $((number % jobs)) -ne 0 ] || wait
}

twin_of() {
  case $1 in
    named_barriers) echo named_barriers_synced ;;
    barrier_ring) echo barrier_ring_of_lanes ;;
    flags) echo flags_beside_barriers ;;
  esac
}

examine_one() {
  line=""
  reported=0
  others=0
  unknown=0
  for tool in $tools; do
    reports=$(count "$tool" "$1" "$2")
    line="$line $tool $reports"
    case $reports in
      0) ;;
      '?') unknown=1 ;;
      *)
        reported=1
        [ "$tool" = racecheck ] || others=1
        ;;
    esac
  done
  result=$("$program" "$folder" "$1" "$2" 2>&1 | tail -n 1)
  verdict=agrees
  if [ "$2" = - ] && [ $reported$others$unknown = 100 ] && [ "$result" = right ] && [ -n "$(twin_of "$1")" ]; then
    verdict="agrees on $(twin_of "$1")"
  elif [ "$2" = - ]; then
    if [ $reported = 1 ] || [ $unknown = 1 ] || [ "$result" != right ]; then verdict=DIFFERS; fi
  elif [ $reported = 0 ]; then
    verdict=DIFFERS
  fi
  printf '%s / %s | simulator: %s | GPU: %s |%s | %s\n' "$1" "$2" "$3" "$result" "$line" "$verdict"
}

"$program" --list >"$found/list" || exit 2
for kernel in $(grep -v "$(printf '\t')" "$found/list"); do
  examine "$kernel" - clean
done

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
wait
cat "$found"/[0-9]*
failures=$(cat "$found"/[0-9]* | grep -c 'DIFFERS$')
echo "$failures differ"
[ "$failures" = 0 ]
