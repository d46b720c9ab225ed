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
} | sed "s/^/memcheck racecheck initcheck synccheck\t--dtype f32 --format csr --device $device /" |
  "$(dirname "$0")/sanitize_cases.sh" "$weft" "$jobs"
