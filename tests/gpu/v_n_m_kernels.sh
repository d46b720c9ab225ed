#!/usr/bin/env bash
# The kernels of the recipe v_n_m against the f64 reference: 2:4, V:2:M for every V and M, and 2:4 beside dense tiles,
# odd rows, columns and widths, rows with fewer entries than they may have, f16 and bf16, epilogues, for mma.sp (sm_80)
# and wgmma.sp (sm_90a); convolutions of odd images; then compute-sanitizer over small ones.
#   tests/gpu/v_n_m_kernels.sh build/release/weft [JOBS [DEVICE [SECONDS]]]
# Sizes, targets, element types and epilogues are dealt over the weights. After SECONDS (default 200) nothing is begun.
# ONLY=conv2d or ONLY=spmm in the environment leaves the other out, SANITIZE=no the sanitizer.
# Needs Python with numpy for the weights. Prints what is wrong, then "N right, M wrong"; exits 1 when something is.
set -u
weft=$1
jobs=${2:-16}
device=${3:-cuda}
deadline=$(($(date +%s) + ${4:-200}))
# shellcheck source-path=SCRIPTDIR source=verify_cases.sh
. "$(dirname "$0")/verify_cases.sh"

python3 - "$work" <<'P'
import sys
import numpy as np
random = np.random.default_rng(11)
sizes = [1, 7, 8, 9, 31, 33, 63, 65, 127, 129, 200, 1000]

def weight_of(rows, depth, group, block, integers):
    """Of each block of columns a group of rows keeps up to four, and each row up to two of these."""
    weight = np.zeros((rows, depth), np.float32)
    fullness = random.choice([1.0, 1.0, 0.6, 0.1])
    for first in range(0, rows, group):
        for begin in range(0, depth, block):
            width = min(block, depth - begin)
            kept = begin + random.choice(width, min(4, width), replace=False)
            members = np.arange(first, min(first + group, rows))[:, None]
            columns = kept[np.argsort(random.random((len(members), len(kept))), axis=1)[:, :2]]
            values = random.integers(-3, 4, columns.shape) if integers else random.normal(size=columns.shape)
            weight[members, columns] = values * (random.random(columns.shape) < fullness)
    return weight.astype(np.float16)

def mixed_of(rows, depth, group, integers):
    """Tiles of a group and 64 columns: dense, 2:4, half dense or empty."""
    weight = weight_of(rows, depth, group, 4, integers)
    for first in range(0, rows, group):
        for begin in range(0, depth, 64):
            tile = weight[first:first + group, begin:begin + 64]
            kind = random.integers(0, 5)
            if kind < 3:
                tile[:] = random.integers(1, 4, tile.shape)
            if kind == 2:
                tile[:, :32] = 0
            if kind == 3:
                tile[:] = 0
    return weight

number = 0
def save(kind, rows, depth, group, block):
    global number
    weight = mixed_of(rows, depth, group, number % 2) if kind == "mixed" else weight_of(rows, depth, group, block, number % 2)
    np.save(f"{sys.argv[1]}/{kind}_{group}_{block}_{number:03}.npy", weight)
    number += 1

for i, group in enumerate((16, 32, 64, 128)):
    for j, block in enumerate((4, 8, 10, 16, 20, 32, 40, 100)):
        for turn in range(3):
            save("spmm", sizes[(i * 5 + j * 7 + turn) % 12], sizes[(i + j * 5 + turn * 5 + 4) % 12], group, block)
for i, group in enumerate((16, 32, 64, 128, 256)):
    for turn in range(4):
        save("mixed", sizes[(i * 7 + turn * 5 + 3) % 12], sizes[(i + turn * 3 + 5) % 12], group, 4)
        save("pairs", sizes[(i * 5 + turn * 3) % 12], sizes[(i + turn * 5 + 2) % 12], group, 4)
for group, block in ((16, 8), (64, 10), (128, 16), (32, 4)):
    for filters, channels in ((7, 5), (64, 16), (130, 40), (256, 64)):
        for height, width in ((3, 3), (1, 1), (5, 2)):
            weight = weight_of(filters, channels * height * width, group, block, number % 2)
            np.save(f"{sys.argv[1]}/filters_{group}_{block}_{number:03}.npy",
                    weight.reshape(filters, channels, height, width))
            number += 1
P

format_of() { # FILE, the places of a block
  local kind group block
  IFS=_ read -r kind group block _ <<<"$(basename "$1")"
  case "$kind" in
    pairs) echo "n_m:V=$group,k=$2" ;;
    mixed) echo "mixed:V=$group,k=$2" ;;
    *) echo "v_n_m:V=$group,M=$block,k=$2" ;;
  esac
}

widths=(1 7 8 9 31 33 63 64 65 127 128 129 200 256 512 1000)
targets=(sm_90a sm_80 sm_90a)
epilogues=("" "--bias random:4 --activation gelu" "--alpha -1.5 --beta 0.5 --c random:9 --activation relu" "" "--bias ints:3 --activation relu")
number=0
for weights in "$work"/spmm_*.npy "$work"/pairs_*.npy "$work"/mixed_*.npy; do
  for turn in 0 1 2; do
    type=f16
    [ $((number % 7)) -eq 3 ] && type=bf16
    places=64
    [ $((number % 4)) -eq 1 ] && places=128
    echo "--recipe v_n_m --op spmm --weights $weights --n ${widths[$((number % 16))]} --format $(format_of "$weights" $places) --dtype $type --target ${targets[$((turn % 3))]} ${epilogues[$((number % 5))]}"
    number=$((number + 1))
  done
done >"$work/spmm"

images=("9x7 --pad 1" "14x14 --pad 1 --stride 2" "11x17 --pad 2x0 --stride 3x1" "13x10 --pad 4 --dilation 2x3" "7x7 --pad 5x6" "56x5" "8x9 --stride 2x3")
batches=(16 8 64 1 24 7 128 12 40 16)
layouts=(chwn chwn chwn nchw chwn chwn nhwc)
number=0
for weights in "$work"/filters_*.npy; do
  for turn in 0 1; do
    echo "--recipe v_n_m --op conv2d --weights $weights --image ${images[$((number % 7))]} --batch ${batches[$((number % 10))]} --layout ${layouts[$(((number / 3) % 7))]} --format $(format_of "$weights" 64) --dtype f16 --target ${targets[$(((number + turn) % 3))]} ${epilogues[$((number % 5))]}"
    number=$((number + 1))
  done
  number=$((number + 1))
done >"$work/conv2d"
cat "$work/${ONLY:-conv2d}" "$work/${ONLY:-spmm}" | awk '!seen[$0]++' | shuf --random-source="$BASH" >"$work/cases"

if [ "${SANITIZE:-yes}" = yes ] && command -v compute-sanitizer >/dev/null; then
  for group in 16 64 128; do
    weights=$(find "$work" -name "spmm_${group}_16_*.npy" | sort | head -n 1)
    for target in sm_80 sm_90a; do
      echo "--recipe v_n_m --op spmm --weights $weights --n 72 --format $(format_of "$weights" 64) --dtype f16 --target $target"
    done
  done >"$work/small"
  for tool in memcheck racecheck; do verify_cases "$work/small" 4 "compute-sanitizer --error-exitcode 9 --tool $tool"; done >"$work/said"
fi
verify_cases "$work/cases" "$jobs" >>"$work/said"
count_cases "$work/said"
