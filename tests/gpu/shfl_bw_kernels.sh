#!/usr/bin/env bash
# The kernels of the recipe shfl_bw against the f64 reference: groups of every size, odd rows, columns and widths,
# lists of unequal and zero length, random orders of rows, f16 and bf16, epilogues, and code for sm_75, sm_80 and
# sm_90a; and convolutions of odd images, with strides, dilations, padding larger than the filter, batches that 8
# divides and others, in all layouts.
#   tests/gpu/shfl_bw_kernels.sh build/release/weft [JOBS [DEVICE [SECONDS]]]
# Widths, shapes of convolutions, targets, element types and epilogues are dealt over the weights. After SECONDS (default
# 300) nothing is begun. ONLY=conv2d or ONLY=spmm in the environment leaves the other out.
# Needs Python with numpy for the weights. Prints what is wrong, then "N right, M wrong"; exits 1 when something is.
set -u
weft=$1
jobs=${2:-16}
device=${3:-cuda}
deadline=$(($(date +%s) + ${4:-300}))
# shellcheck source-path=SCRIPTDIR source=verify_cases.sh
. "$(dirname "$0")/verify_cases.sh"

python3 - "$work" <<'P'
import sys
import numpy as np
random = np.random.default_rng(11)
sizes = [1, 7, 8, 9, 31, 33, 63, 65, 127, 129, 200, 1000]

def weight_of(rows, depth, group, integers):
    weight = np.zeros((rows, depth), np.float32)
    order = random.permutation(rows)
    for begin in range(0, rows, group):
        kept = random.integers(0, depth + 1) if random.random() < 0.8 else 0
        columns = random.choice(depth, kept, replace=False)
        members = order[begin:begin + group]
        values = random.integers(-3, 4, (len(members), kept)) if integers else random.normal(size=(len(members), kept))
        weight[np.ix_(members, columns)] = values
    return weight.astype(np.float16)

number = 0
for group in (8, 16, 32, 64, 128, 256):
    for i, rows in enumerate(sizes):
        for depth in (sizes[(i * 5 + group) % 12], sizes[(i * 7 + 3) % 12]):
            np.save(f"{sys.argv[1]}/{group}_{number}.npy", weight_of(rows, depth, group, number % 2))
            number += 1
number = 0
for group in (16, 32, 64, 128):
    for filters, channels in ((7, 5), (64, 16), (130, 40), (256, 64)):
        for height, width in ((3, 3), (1, 1), (5, 2)):
            weight = weight_of(filters, channels * height * width, group, number % 2)
            np.save(f"{sys.argv[1]}/filters_{group}_{number:02}.npy", weight.reshape(filters, channels, height, width))
            number += 1
P

widths=(1 7 8 9 31 33 63 64 65 127 128 129 200 256 512 1000)
targets=(sm_90a sm_80 sm_90a sm_75 sm_90a)
epilogues=("" "--bias random:4 --activation gelu" "--alpha -1.5 --beta 0.5 --c random:9 --activation relu" "" "--bias ints:3 --activation relu")
number=0
for weights in "$work"/[0-9]*.npy; do
  group=$(basename "$weights" | cut -d_ -f1)
  for turn in 0 1; do
    target=${targets[$(((number + turn) % 5))]}
    type=f16
    [ $((number % 7)) -eq 3 ] && [ "$target" != sm_75 ] && type=bf16
    places=64
    [ $((number % 4)) -eq 1 ] && places=32
    echo "--recipe shfl_bw --op spmm --weights $weights --n ${widths[$((number % 16))]} --format shfl_bw:V=$group,k=$places --dtype $type --target $target ${epilogues[$((number % 5))]}"
    number=$((number + 1))
  done
done >"$work/spmm"

images=("9x7 --pad 1" "14x14 --pad 1 --stride 2" "11x17 --pad 2x0 --stride 3x1" "13x10 --pad 4 --dilation 2x3" "7x7 --pad 5x6" "56x5" "8x9 --stride 2x3")
batches=(16 8 64 1 24 7 128 12 40 16)
layouts=(chwn chwn chwn nchw chwn chwn nhwc)
number=0
for weights in "$work"/filters_*.npy; do
  group=$(basename "$weights" | cut -d_ -f2)
  for turn in 0 1 2 3 4; do
    target=${targets[$(((number + turn) % 5))]}
    type=f16
    [ $((number % 7)) -eq 3 ] && [ "$target" != sm_75 ] && type=bf16
    echo "--recipe shfl_bw --op conv2d --weights $weights --image ${images[$((number % 7))]} --batch ${batches[$((number % 10))]} --layout ${layouts[$(((number / 3) % 7))]} --format shfl_bw:V=$group --dtype $type --target $target ${epilogues[$((number % 5))]}"
    number=$((number + 1))
  done
  number=$((number + 1))
done >"$work/conv2d"
cat "$work/${ONLY:-conv2d}" "$work/${ONLY:-spmm}" | awk '!seen[$0]++' >"$work/cases"

verify_cases "$work/cases" "$jobs" >"$work/said"
count_cases "$work/said"
