#!/usr/bin/env bash
# What the four tools of compute-sanitizer say of kernels of the recipe sparsert, one of each form.
#   tests/gpu/sanitize_sparsert.sh build/release/weft PRODUCT FILTERS [JOBS [DEVICE]]
# PRODUCT is a weight of a product, FILTERS of 3x3 filters, both small: a tool slows a kernel down a hundred times. Prints
# a line a kernel with the errors that each tool counts ("?" where it did not come to its end), then "N clean, M not".
# Exits 1 when one is not clean, or not right.
set -u
weft=$1
product=$2
filters=$3
jobs=${4:-8}
device=${5:-cuda}
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

{
  for form in baked,groups=1 baked,groups=4,threads=64 baked,chunk=16,depth=3 baked,chunk=8,depth=1,rows=16 \
    streaming streaming,columns=1,threads=256 row_per_warp row_per_warp,columns=4,rows=2 \
    pieces pieces,columns=4,threads=128,parts=3; do
    echo "--weights $product --n 97 --recipe sparsert:form=$form"
  done
  echo "--weights $product --n 49 --recipe sparsert --alpha 2 --beta -1 --c random:3 --bias random:4 --activation relu"
  for form in image=staged image=staged,rows=8,groups=4 image=clamped image=clamped,rows=8,groups=4; do
    echo "--op conv2d --weights $filters --filter 3x3 --image 15x13 --pad 2 --batch 2 --recipe sparsert:$form"
    echo "--op conv2d --weights $filters --filter 3x3 --image 17x19 --pad 4 --stride 2 --dilation 2 --recipe sparsert:$form"
  done
} >"$work/list"

export weft device sanitizer
# Of races, those that are no mere warnings.
# shellcheck disable=SC2016
xargs -P "$jobs" -d '\n' -n 1 bash -c '
  line="" verdict=clean
  for tool in memcheck racecheck initcheck synccheck; do
    said=$(timeout 300 "$sanitizer" --tool "$tool" --print-limit 3 \
      "$weft" verify --dtype f32 --format csr --device "$device" $1 2>&1)
    code=$?
    errors=$(printf "%s\n" "$said" | sed -n -e "s/.*RACECHECK SUMMARY: .*(\([0-9]*\) error.*/\1/p" \
      -e "s/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p" | tail -n 1)
    line="$line $tool ${errors:-?}"
    if [ "$code" -eq 0 ] && [ "${errors:-?}" = 0 ]; then continue; fi
    [ "$verdict" = "NOT CLEAN" ] || printf "%s, exit code %s, %s:\n%s\n" "$tool" "$code" "$1" "$(printf "%s\n" "$said" | head -n 30)"
    verdict="NOT CLEAN"
  done
  printf "%s |%s | %s\n" "$1" "$line" "$verdict"' _ <"$work/list" | tee "$work/out"

clean=$(grep -c '| clean$' "$work/out")
all=$(wc -l <"$work/list")
echo "$clean clean, $((all - clean)) not"
[ "$clean" -eq "$all" ]
