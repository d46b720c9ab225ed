#!/usr/bin/env bash
# The kernels of the recipe sliced_rows against the f64 reference: few columns of all types, odd sizes, uneven rows, cuts
# and epilogues; products of row groups with an odd number of columns, whose operands are aligned first; and layers of
# few columns as frameworks have them, whose results the kernel writes across.
#   tests/gpu/sliced_rows_kernels.sh build/release/weft [JOBS [DEVICE [SECONDS]]]
# After SECONDS (default 540) nothing is begun. Prints what is wrong, then "N right, M wrong, K too late"; exits 1 when
# something is.
set -u
weft=$1
jobs=${2:-16}
device=${3:-cuda}
deadline=$(($(date +%s) + ${4:-540}))
# shellcheck source=tests/gpu/verify_cases.sh
. "$(dirname "$0")/verify_cases.sh"

made() { echo "--weights made:M=$1,K=$2,$3"; } # rows, columns, how
knobs=("" ":groups=1" ":groups=32" ":columns=1" ":slices=2,turns=2" ":groups=4,slices=3,turns=3" ":places=16" ":columns=4,places=4,groups=8" ":parts=16" ":columns=1,slices=2,turns=2,parts=5")
epilogues=("" "--alpha -1.5 --beta 0.5 --c random:9 --activation relu" "--bias random:4 --activation gelu")
turn=0
few_columns() {
  for sizes in "1 1" "7 8" "63 65" "1000 777" "4097 1000" "768 4097"; do
    read -r rows inner <<<"$sizes"
    for n in 1 2 3 4 5 7 8 9 16 17 31 33 64; do
      for dtype in f32 f16 bf16; do
        turn=$((turn + 1))
        echo "--op spmm --dtype $dtype --format csr --n $n --recipe sliced_rows${knobs[$((turn % ${#knobs[@]}))]} ${epilogues[$((turn % 3))]} $(made "$rows" "$inner" sparsity=0.$((5 + turn % 5)))"
      done
    done
  done
}
aligned() {
  for n in 1 3 7 9 33 129 1031; do
    for V in 16 32 64; do
      echo "--op spmm --dtype f16 --format shfl_bw:V=$V --n $n --layout kn --recipe shfl_bw $(made 300 1001 "sparsity=0.75,V=$V")"
    done
    echo "--op spmm --dtype bf16 --format n_m --n $n --layout kn --recipe v_n_m $(made 130 516 of=4)"
    echo "--op linear --dtype f16 --format column_quads --n $n --layout kn --recipe v_n_m ${epilogues[2]} $(made 131 77 sparsity=0.9)"
  done
}

across() {
  for n in 2 7 8 33 64 100; do
    echo "--op linear --dtype f16 --format shfl_bw:V=64 --n $n --layout nk --recipe shfl_bw ${epilogues[2]} $(made 640 1000 sparsity=0.75,V=64)"
    echo "--op linear --dtype bf16 --format n_m --n $n --layout nk --recipe v_n_m $(made 1025 516 of=4)"
    echo "--op linear --dtype f16 --format column_quads --n $n --layout nk --recipe v_n_m $(made 131 77 sparsity=0.9)"
    echo "--op linear --dtype f32 --format csr --n $n --layout nk --recipe sparsert ${epilogues[2]} $(made 300 777 sparsity=0.9)"
  done
}

{ few_columns; aligned; across; } | grep -E -- "${ONLY:-.}" >"$work/cases"
verify_cases "$work/cases" "$jobs" >"$work/said"
count_cases "$work/said"
