#!/usr/bin/env bash
# What the four tools of compute-sanitizer say of kernels of every recipe and format: products and convolutions of even and
# of odd sizes, blocks that go through several tiles, clusters, many buffers, with and without roles of warps, epilogues.
#   tests/gpu/sanitize_kernels.sh build/release/weft [JOBS [DEVICE]]
# racecheck does not follow an order in which one lane arrives at a barrier for what all lanes of its warp have read
# (docs/decisions.md, "Consumers that load fragments"). Kernels whose lanes do are looked at by it in a second form, the
# same but that every lane arrives (--every-lane-arrives), and by the other tools as they are. ONLY=PATTERN in the
# environment leaves out what does not match. Prints a line a kernel with the errors that each tool counts ("?" where it
# did not come to its end), then "N clean, M not". Exits 1 when one is not clean, or not right.
set -u
weft=$1
jobs=${2:-8}
device=${3:-cuda}

made() { echo "--weights made:M=$1,K=$2,$3"; } # rows, columns, how
epilogue="--alpha 2 --beta -1 --c random:3 --bias random:4 --activation relu"

default_schedules() {
  for format in csr csc coo ell padded_csr sliced_ell dense bcsr:b=8 blocked_ell:b=16 hb_ell column_quads csr:order=dealt,rows=8; do
    echo "--op spmm --dtype f32 --format $format --n 97 --recipe default $(made 67 93 sparsity=0.8)"
  done
  for format in vector_wise:V=16 shfl_bw:V=16; do
    echo "--op spmm --dtype f32 --format $format --n 33 --recipe default $(made 67 93 sparsity=0.75,V=16)"
  done
  echo "--op linear --dtype f16 --format csr --n 50 --recipe default $(made 67 93 sparsity=0.8) $epilogue"
  echo "--op conv2d --dtype f32 --format csr --filter 3x3 --image 9x7 --pad 1 --stride 2 --recipe default $(made 19 45 sparsity=0.8)"
}

unstructured() {
  for form in baked,groups=1 baked,groups=4,threads=64 baked,chunk=16,depth=3 baked,chunk=8,depth=1,rows=16 \
    streaming streaming,columns=1,threads=256 row_per_warp row_per_warp,columns=4,rows=2 \
    pieces pieces,columns=4,threads=128,parts=3; do
    echo "--op spmm --dtype f32 --format csr --n 97 --recipe sparsert:form=$form $(made 75 130 sparsity=0.85)"
  done
  echo "--op spmm --dtype f32 --format csr --n 49 --recipe sparsert $epilogue $(made 75 130 sparsity=0.85)"
  for form in image=staged image=staged,rows=8,groups=4 image=clamped image=clamped,rows=8,groups=4; do
    echo "--op conv2d --dtype f32 --format csr --filter 3x3 --image 15x13 --pad 2 --batch 2 --recipe sparsert:$form $(made 24 54 sparsity=0.8)"
    echo "--op conv2d --dtype f32 --format csr --filter 3x3 --image 17x19 --pad 4 --stride 2 --dilation 2 --recipe sparsert:$form $(made 24 54 sparsity=0.8)"
  done
}

product() { # V, columns, recipe [target]
  echo "--op spmm --dtype f16 --format shfl_bw:V=$1 --n $2 --recipe $3 --target ${4:-sm_90a} $(made $((3 * $1 + 128)) 520 sparsity=0.75,V=$1)"
}
filters() { # V, recipe [target]
  echo "--op conv2d --dtype f16 --format shfl_bw:V=$1 --filter 3x3 --image 9x7 --pad 1 --batch 24 --layout chwn --recipe $2 --target ${3:-sm_90a} $(made 256 288 sparsity=0.75,V=$1)"
}
row_groups() {
  for knobs in blocks=4 cluster=2,blocks=4; do product 32 520 shfl_bw:$knobs; done
  for V in 64 128; do product $V 1040 shfl_bw:blocks=4; done
  product 64 264 shfl_bw:tile_n=64,warp_n=64,blocks=0,stages=8
  product 64 264 shfl_bw:tile_n=64,warp_n=64,blocks=0,stages=3,producers=0
  product 64 1040 shfl_bw:cluster=2,blocks=4
  for V in 32 64 128; do
    product $V 264 shfl_bw sm_80
    filters $V shfl_bw:blocks=3
  done
  filters 64 shfl_bw sm_80
  for layout in nchw nhwc; do
    echo "--op conv2d --dtype f16 --format shfl_bw:V=64 --filter 3x3 --image 9x7 --pad 1 --batch 3 --layout $layout --recipe shfl_bw --target sm_90a $(made 192 288 sparsity=0.75,V=64)"
  done
  for V in 16 64; do
    echo "--op spmm --dtype f16 --format vector_wise:V=$V --n 131 --recipe shfl_bw --target sm_90a $epilogue $(made 130 515 sparsity=0.9,V=$V)"
    echo "--op spmm --dtype bf16 --format vector_wise:V=$V --n 9 --recipe shfl_bw --target sm_80 $(made 131 77 sparsity=0.9,V=$V)"
  done
}

two_of_four() { # weights, format, columns, recipe [target]
  echo "--op spmm --dtype f16 --format $2 --n $3 --recipe $4 --target ${5:-sm_90a} $(made "${6:-512}" "${7:-512}" "$1")"
}
sparse_tensor_cores() {
  for knobs in blocks=3 cluster=2,blocks=4; do two_of_four of=4,V=128 n_m 520 v_n_m:$knobs; done
  two_of_four of=8,V=64 v_n_m:V=64,M=8 520 v_n_m:blocks=3
  two_of_four of=4,V=128 n_m 264 v_n_m sm_80
  two_of_four of=8,V=64 v_n_m:V=64,M=8 264 v_n_m sm_80
  two_of_four of=4 n_m 7 v_n_m sm_90a 130 516
  two_of_four of=4 n_m 129 v_n_m sm_90a 130 516
  two_of_four of=16,V=32 v_n_m:V=32,M=16 131 v_n_m sm_90a 130 515
  for target in sm_90a sm_80; do
    two_of_four sparsity=0.9 column_quads 256 v_n_m $target 130 515
    two_of_four sparsity=0.95 column_quads 97 v_n_m $target 131 77
    two_of_four sparsity=0.9 hb_ell:pairs=1 136 v_n_m $target 130 515
  done
}

blocks() {
  for target in sm_90a sm_80; do
    for format in hb_ell hb_ell:every=8; do
      echo "--op spmm --dtype f16 --format $format --n 136 --recipe hb_ell --target $target $(made 130 515 sparsity=0.9)"
      echo "--op spmm --dtype f16 --format $format --n 97 --recipe hb_ell --target $target $(made 131 77 sparsity=0.8)"
    done
  done
}

few_columns() {
  for columns in "1 f32" "3 f16" "8 bf16" "17 f32"; do
    read -r n dtype <<<"$columns"
    echo "--op spmm --dtype $dtype --format csr --n $n --recipe sliced_rows $(made 130 260 sparsity=0.8)"
    echo "--op spmm --dtype $dtype --format csr --n $n --recipe sliced_rows:groups=4,slices=2,turns=2 $epilogue $(made 75 93 sparsity=0.8)"
  done
}

# Operands that launches of their own transpose or align.
transposed() {
  for sizes in "33 130 100" "7 67 93" "200 64 512"; do
    read -r n rows columns <<<"$sizes"
    echo "--op spmm --dtype f32 --format csr --layout nk --n $n --recipe sparsert $(made "$rows" "$columns" sparsity=0.8)"
    echo "--op linear --dtype f16 --format shfl_bw:V=64 --layout nk --n $n --recipe shfl_bw --target sm_90a $(made "$rows" "$columns" sparsity=0.75,V=64)"
    echo "--op spmm --dtype f16 --format n_m --layout nk --n $n --recipe v_n_m --target sm_90a $(made "$rows" $((columns / 4 * 4)) of=4)"
  done
  for n in 1 7 33; do
    echo "--op spmm --dtype f16 --format shfl_bw:V=64 --n $n --layout kn --recipe shfl_bw --target sm_90a $(made 130 100 sparsity=0.75,V=64)"
    echo "--op spmm --dtype f16 --format n_m --n $n --layout kn --recipe v_n_m --target sm_90a $(made 130 100 of=4)"
  done
  for layout in nchw nhwc; do
    for stride in 1 2; do
      echo "--op conv2d --dtype f16 --format shfl_bw:V=64 --filter 3x3 --image 9x7 --pad 1 --stride $stride --batch 8 --layout $layout --recipe shfl_bw --target sm_90a $(made 192 288 sparsity=0.75,V=64)"
    done
  done
}

{ default_schedules; unstructured; few_columns; row_groups; sparse_tensor_cores; blocks; transposed; } | grep -E -- "${ONLY:-.}" |
  while read -r arguments; do
    arguments="--b ints:5 --device $device $arguments"
    case $arguments in
      *"--recipe v_n_m"*sm_90a* | *V=16*"--recipe shfl_bw"*sm_90a* | *V=32*"--recipe shfl_bw"*sm_90a*)
        printf "memcheck initcheck synccheck\t%s\nracecheck\t--every-lane-arrives %s\n" "$arguments" "$arguments"
        ;;
      *) printf "memcheck racecheck initcheck synccheck\t%s\n" "$arguments" ;;
    esac
  done | "$(dirname "$0")/sanitize_cases.sh" "$weft" "$jobs"
