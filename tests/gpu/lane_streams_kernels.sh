#!/usr/bin/env bash
# The kernels of the recipe lane_streams against the f64 reference: 1 to 64 columns in both layouts, odd sizes, from
# nothing pruned to nearly all, cuts and epilogues.
#   tests/gpu/lane_streams_kernels.sh build/release/weft [JOBS [DEVICE [SECONDS]]]
# After SECONDS (default 540) nothing is begun. Prints what is wrong, then "N right, M wrong, K too late"; exits 1 when
# something is.
set -u
weft=$1
jobs=${2:-16}
device=${3:-cuda}
deadline=$(($(date +%s) + ${4:-540}))
# shellcheck source=tests/gpu/verify_cases.sh
. "$(dirname "$0")/verify_cases.sh"

knobs=("" ":warps=1" ":turns=1" ":warps=1,turns=1,slice=64" ":slice=1024" ":columns=8" ":columns=32,turns=1")
epilogues=("" "--bias random:4 --activation gelu" "--alpha -1.5 --beta 0.5 --c random:9 --activation relu")
turn=0
for sizes in "1 1" "7 8" "63 65" "192 1000" "1000 4097" "4097 1000"; do
  read -r rows inner <<<"$sizes"
  for n in 1 2 7 8 9 16 17 33 64; do
    for format in lane_streams pair_words; do
      for layout in nk kn; do
        turn=$((turn + 1))
        dtype=$([ $((turn % 3)) -eq 0 ] && echo bf16 || echo f16)
        kept=$((turn % 5))
        echo "--op linear --dtype $dtype --format $format --n $n --layout $layout --recipe lane_streams${knobs[$((turn % ${#knobs[@]}))]} ${epilogues[$((turn % 3))]} --weights made:M=$rows,K=$inner,sparsity=0.$((2 * kept + 1))"
      done
    done
  done
done | grep -E -- "${ONLY:-.}" >"$work/cases"
verify_cases "$work/cases" "$jobs" >"$work/said"
count_cases "$work/said"
