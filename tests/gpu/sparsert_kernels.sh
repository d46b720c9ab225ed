#!/usr/bin/env bash
# The kernels of the recipe sparsert, and the default ones beside them, against the f64 reference: every weight below
# a folder as a product and as the filters of a convolution, in all forms, widths and epilogues.
#   tests/gpu/sparsert_kernels.sh build/release/weft FOLDER_OF_WEIGHTS [JOBS [DEVICE [SECONDS]]]
# Widths, forms and epilogues are dealt over the weights, so that each of them meets some. A width that makes a product
# of more than MOST_PRODUCTS (default 500 million) multiply-adds is passed over, because the reference takes seconds
# for it. WIDTHS (default "1 2 7 … 12544") names others. Weights of more than MOST_ENTRIES (default all) are left out.
# After SECONDS (default 540) nothing is begun.
# Prints what is wrong, then "N right, M wrong"; exits 1 when something is.
set -u
weft=$1
folder=$2
jobs=${3:-16}
device=${4:-cuda}
deadline=$(($(date +%s) + ${5:-540}))
most_products=${MOST_PRODUCTS:-500000000}
most_entries=${MOST_ENTRIES:-999999999}
# Beyond, code takes a minute to compile; the recipe alone decides whether it is worth that.
most_baked=60000
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

read -r -a widths <<<"${WIDTHS:-1 2 7 31 33 49 63 65 127 129 196 784 3136 12544}"
forms=(
  "form=baked,groups=1" "form=baked,groups=2,threads=64" "form=baked,groups=7,rows=16"
  "form=baked,groups=16,threads=32,rows=8" "form=baked,rows=3,threads=128,groups=3" "form=baked,chunk=16"
  "form=baked,chunk=5,depth=2,rows=16,threads=64" "form=baked,chunk=32,depth=3,rows=64,threads=128" "form=streaming"
  "form=streaming,columns=1,threads=512" "form=streaming,columns=4,threads=256" "form=row_per_warp"
  "form=row_per_warp,columns=1,rows=3,threads=256" "form=row_per_warp,columns=4,threads=64"
  "form=streaming,lanes=16,panel_rows=100" "form=streaming,lanes=32,columns=4,places=8"
  "form=row_per_warp,lanes=8,places=16,columns=2" "form=row_per_warp,groups=4,columns=2,threads=128"
  "form=pieces" "form=pieces,columns=4,places=4" "form=pieces,columns=1,threads=256,places=16"
)
image_forms=(
  "image=staged" "image=clamped" "image=staged,rows=4,groups=3" "image=clamped,rows=8,groups=4" "image=staged,lines=1"
  "image=staged,lines=5,rows=16"
)
epilogues=(
  "--alpha -1.5 --beta 0.5 --c random:9 --activation relu" "--bias random:4 --activation gelu"
  "--beta 2 --c ints:5 --bias ints:3" "--alpha 0.25 --bias random:6 --activation relu"
)
images=(
  "--image 28x27 --pad 1 --activation relu" "--image 13x9 --pad 2 --stride 2 --dilation 2 --batch 3"
  "--image 11x12 --pad 4x0 --stride 3x1 --layout nhwc" "--image 17x15 --pad 8 --stride 3 --dilation 1x3"
  "--image 7x7 --pad 5 --stride 1x2 --beta 0.5 --c random:3 --bias random:2" "--image 56x55 --pad 1"
  "--image 15x33 --pad 2 --dilation 1x2 --batch 2 --alpha 2 --activation gelu"
  "--image 9x7 --pad 1 --layout nhwc --batch 32" "--image 8x31 --stride 2 --layout nhwc --batch 64"
)

number_of_width=0 number_of_form=0 number_of_epilogue=0 number_of_image=0 number_of_image_form=0

# The next width in turn that is not too much for so many entries, into "n".
deal_width() {
  for _ in "${widths[@]}"; do
    n=${widths[$((number_of_width % ${#widths[@]}))]}
    number_of_width=$((number_of_width + 1))
    [ $((n * $1)) -gt "$most_products" ] || return 0
  done
  n=1
}

# The next form in turn that compiles soon for so many entries, into "form".
deal_form() {
  while true; do
    form=${forms[$((number_of_form % ${#forms[@]}))]}
    number_of_form=$((number_of_form + 1))
    if [ "$1" -le "$most_baked" ] || [ "${form#form=baked}" = "$form" ]; then return; fi
  done
}

deal_epilogue() {
  epilogue=${epilogues[$((number_of_epilogue % ${#epilogues[@]}))]}
  number_of_epilogue=$((number_of_epilogue + 1))
}

filter_of() {
  if [ $(($1 % 9)) -eq 0 ]; then
    echo 3x3
  elif [ $(($1 % 49)) -eq 0 ]; then
    echo 7x7
  else
    echo 1x1
  fi
}

products_of() {
  local file=$1 entries=$2 recipe
  for recipe in sparsert sparsert default; do
    deal_width "$entries"
    echo "--weights $file --n $n --recipe $recipe"
  done
  for _ in 1 2; do
    deal_width "$entries"
    deal_form "$entries"
    echo "--weights $file --n $n --recipe sparsert:$form"
  done
  deal_epilogue
  for recipe in sparsert default; do
    deal_width "$entries"
    echo "--weights $file --n $n --recipe $recipe $epilogue"
  done
}

convolutions_of() {
  local file=$1 columns=$2 recipe image
  for recipe in sparsert default "sparsert:${image_forms[$((number_of_image_form % ${#image_forms[@]}))]}"; do
    image=${images[$((number_of_image % ${#images[@]}))]}
    number_of_image=$((number_of_image + 1))
    echo "--op conv2d --weights $file --filter $(filter_of "$columns") $image --recipe $recipe"
  done
  number_of_image_form=$((number_of_image_form + 1))
}

# A line a weight: entries, columns, file; those with few entries first. Biases and dense filters are no weights here.
find "$folder" \( -name '*.smtx' -o -name '*.mtx' -o -name '*.npy' \) ! -name '*_bias*' ! -name 'depthwise*' |
  LC_ALL=C sort | while read -r file; do
  "$weft" inspect "$file" --json >"$work/structure" 2>/dev/null || continue
  entries=$(sed -n 's/^  "stored": \([0-9]*\).*/\1/p' "$work/structure")
  columns=$(sed -n 's/^  "columns": \([0-9]*\).*/\1/p' "$work/structure")
  if [ "${entries:-0}" -gt 0 ] && [ "$entries" -le "$most_entries" ]; then echo "$entries $columns $file"; fi
done | sort -n >"$work/weights"

while read -r entries columns file; do
  products_of "$file" "$entries"
  if [ "$entries" -le "$most_baked" ]; then convolutions_of "$file" "$columns"; fi
done <"$work/weights" >"$work/list"

# A form that was asked for may not fit the target: exit code 3.
export weft device deadline
# shellcheck disable=SC2016
xargs -P "$jobs" -d '\n' -n 1 bash -c '
  left=$((deadline - $(date +%s)))
  if [ "$left" -le 0 ]; then echo "late $1"; exit 0; fi
  said=$(timeout $((left < 120 ? left : 120)) "$weft" verify --dtype f32 --format csr --device "$device" $1 2>&1)
  code=$?
  case "$code $1" in
    "0 "*) echo "right $1" ;;
    "3 "*sparsert:*) echo "unfit $1" ;;
    "124 "*) if [ "$(date +%s)" -ge "$deadline" ]; then echo "late $1"; else echo "WRONG $1: no end"; fi ;;
    *) printf "WRONG %s\n%s\n" "$1" "$said" ;;
  esac' _ <"$work/list" >"$work/out"

grep -v '^\(right\|late\|unfit\) ' "$work/out" | head -n 100
count() { grep -c "^$1 " "$work/out"; }
for n in "${widths[@]}"; do
  grep -q "^right .*--n $n .*sparsert" "$work/out" || echo "no kernel of sparsert with $n columns was right"
done
right=$(count right) late=$(count late) unfit=$(count unfit)
wrong=$(($(wc -l <"$work/list") - right - late - unfit))
echo "$(wc -l <"$work/weights") weights; $unfit forms did not fit; $late came too late"
echo "$right right, $wrong wrong"
[ "$right" -gt 0 ] && [ "$wrong" -eq 0 ]
