#!/usr/bin/env bash
# What the four tools of compute-sanitizer say of kernels for row groups and for two of four: products and convolutions,
# blocks that go through several tiles, clusters, many buffers, warps without roles, code for sm_90a and sm_80.
#   tests/gpu/sanitize_row_groups.sh build/release/weft [JOBS [DEVICE]]
# racecheck does not follow an order in which one lane arrives at a barrier for what all lanes of its warp have read
# (docs/decisions.md, "Consumers that load fragments"): of kernels with roles whose lanes read shared memory themselves it
# is not asked. Prints a line a kernel with the errors that each tool counts ("?" where it did not come to its end), then
# "N clean, M not". Exits 1 when one is not clean, or not right.
set -u
weft=$1
jobs=${2:-8}
device=${3:-cuda}

product() { # V, columns, recipe [target]
  echo "--op spmm --weights made:M=$((3 * $1 + 128)),K=520,sparsity=0.75,V=$1 --n $2 --format shfl_bw:V=$1 --recipe $3 --target ${4:-sm_90a}"
}
convolution() { # V, recipe [target]
  echo "--op conv2d --filter 3x3 --image 9x7 --pad 1 --batch 24 --layout chwn --weights made:M=256,K=288,sparsity=0.75,V=$1 --format shfl_bw:V=$1 --recipe $2 --target ${3:-sm_90a}"
}
two_of_four() { # weights, format, columns, recipe [target]
  echo "--op spmm --weights made:M=512,K=512,$1 --n $3 --format $2 --recipe $4 --target ${5:-sm_90a}"
}
{
  for knobs in blocks=4 cluster=2,blocks=4; do product 32 520 shfl_bw:$knobs; done
  for V in 64 128; do product $V 1040 shfl_bw:blocks=4; done
  product 64 264 shfl_bw:tile_n=64,warp_n=64,blocks=0,stages=8
  product 64 264 shfl_bw:tile_n=64,warp_n=64,blocks=0,stages=3,producers=0
  product 64 1040 shfl_bw:cluster=2,blocks=4
  for V in 32 64 128; do
    product $V 264 shfl_bw sm_80
    convolution $V shfl_bw:blocks=3
  done
  convolution 64 shfl_bw sm_80
  for knobs in blocks=3 cluster=2,blocks=4; do two_of_four of=4,V=128 n_m 520 v_n_m:$knobs; done
  two_of_four of=8,V=64 v_n_m:V=64,M=8 520 v_n_m:blocks=3
  two_of_four of=4,V=128 n_m 264 v_n_m sm_80
  two_of_four of=8,V=64 v_n_m:V=64,M=8 264 v_n_m sm_80
} | while read -r arguments; do
  tools="memcheck racecheck initcheck synccheck"
  case $arguments in
    *sm_80*) ;;
    *V=32* | *v_n_m:*) tools="memcheck initcheck synccheck" ;;
  esac
  printf "%s\t--dtype f16 --b ints:5 --device %s %s\n" "$tools" "$device" "$arguments"
done | "$(dirname "$0")/sanitize_cases.sh" "$weft" "$jobs"
