#!/usr/bin/env bash
# Every kind of kernel that the default schedules make, on a GPU, against the f64 reference.
#   tests/gpu/verify_kernels.sh build/release/weft FOLDER_OF_WEIGHTS [JOBS] [DEVICE]
# Those of the recipe sparsert: sparsert_kernels.sh.
# Prints a line for each wrong result and the count of right ones; exits 1 when one is wrong.
set -u
weft=$1
folder=$2
jobs=${3:-8}
device=${4:-cuda}
list=$(mktemp)
trap 'rm -f "$list" "$list.out"' EXIT

widths=(1 2 3 7 8 9 15 17 31 33 49 63 65 127 129 196 256)
number=0
for emitter in llvm cuda; do
  for file in "$folder"/*.smtx "$folder"/contraction*.npy; do
    [ -e "$file" ] || continue
    for format in csr csc coo ell; do
      for _ in 1 2; do
        n=${widths[$((number % ${#widths[@]}))]}
        number=$((number + 1))
        echo "--op spmm --weights $file --format $format --n $n --emitter $emitter"
      done
    done
    echo "--op spmm --weights $file --format csr --n 63 --dtype f16 --emitter $emitter --b ints:3"
    echo "--op spmm --weights $file --format csr --n 33 --dtype bf16 --emitter $emitter"
    echo "--op linear --weights $file --format ell --n 65 --activation gelu --emitter $emitter"
    echo "--op spmm --weights $file --format csc --n 49 --alpha 0.5 --beta 2 --c random:9 --activation relu --emitter $emitter"
  done
  for file in "$folder"/filter*.npy; do
    [ -e "$file" ] || continue
    for format in csr csc ell; do
      echo "--op conv2d --weights $file --format $format --filter 3x3 --image 28x27 --pad 1 --emitter $emitter"
      echo "--op conv2d --weights $file --format $format --filter 3x3 --image 13x9 --pad 2 --stride 2 --dilation 2 --batch 3 --emitter $emitter"
      echo "--op conv2d --weights $file --format $format --filter 3x3 --image 11x12 --pad 4x0 --stride 3x1 --layout nhwc --dtype f16 --emitter $emitter"
    done
  done
done >"$list"

xargs -P "$jobs" -d '\n' -I{} sh -c '
  out=$("$1" verify --device "$2" $3 2>&1) && echo "right $3" || printf "WRONG %s\n%s\n" "$3" "$out"' _ "$weft" "$device" {} <"$list" >"$list.out"
grep -v '^right ' "$list.out" | head -n 60
right=$(grep -c '^right ' "$list.out")
wrong=$(($(wc -l <"$list") - right))
echo "$right passed, $wrong failed"
[ "$wrong" -eq 0 ]
