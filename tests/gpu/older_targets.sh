#!/usr/bin/env bash
# Kernels of the recipe sparsert for older architectures: assembled, where they must not spill, and run on the GPU that
# there is, whose driver translates their PTX.
#   tests/gpu/older_targets.sh build/release/weft FOLDER_OF_WEIGHTS [JOBS [DEVICE [TARGETS]]]
# TARGETS is "sm_75 sm_80" where it is left out. Weights of more than MOST_ENTRIES (default 15000) are left out: the
# driver translates on one core. Prints what is wrong and what spills, then "N right, M wrong, K spill"; exits 1 when a
# kernel is wrong or spills.
set -u
weft=$1
folder=$2
jobs=${3:-16}
device=${4:-cuda}
targets=${5:-sm_75 sm_80}
most_entries=${MOST_ENTRIES:-15000}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

widths=(1 49 129 784)
forms=(
  "sparsert" "sparsert:form=baked,groups=4" "sparsert:form=baked,chunk=16" "sparsert:form=streaming"
  "sparsert:form=row_per_warp"
)
number=0
for target in $targets; do
  find "$folder" \( -name '*.smtx' -o -name 'contraction*.npy' -o -name 'filter*.npy' \) ! -name '*_bias*' |
    LC_ALL=C sort | while read -r file; do
    entries=$("$weft" inspect "$file" --json 2>/dev/null | sed -n 's/^  "stored": \([0-9]*\).*/\1/p')
    if [ "${entries:-0}" -eq 0 ] || [ "$entries" -gt "$most_entries" ]; then continue; fi
    for _ in 1 2; do
      n=${widths[$((number % ${#widths[@]}))]}
      echo "$target --weights $file --n $n --recipe ${forms[$((number % ${#forms[@]}))]}"
      number=$((number + 1))
    done
    case $file in
      */filter*)
        for form in sparsert sparsert:image=staged sparsert:image=clamped; do
          echo "$target --op conv2d --weights $file --filter 3x3 --image 28x27 --pad 1 --recipe $form"
        done
        ;;
    esac
  done
done >"$work/list"

# A form that was asked for may not fit a target: exit code 3.
export weft device work
# shellcheck disable=SC2016
xargs -P "$jobs" -d '\n' -n 1 bash -c '
  target=${1%% *}
  kernel="--dtype f32 --format csr ${1#* }"
  folder=$(mktemp -d "$work/kernel-XXXXXX")
  said=$("$weft" compile $kernel --target "$target" --out "$folder" --json 2>&1)
  code=$?
  rm -rf "$folder"
  case "$code $1" in
    "0 "*) ;;
    "3 "*sparsert:*) echo "unfit $1"; exit 0 ;;
    *) printf "WRONG %s\n%s\n" "$1" "$said"; exit 0 ;;
  esac
  spilled=$(printf "%s\n" "$said" | sed -n "s/.*\"spill_bytes\": \([0-9]*\).*/\1/p")
  [ "${spilled:-?}" = 0 ] || echo "SPILLS ${spilled:-unknown} $1"
  if said=$(timeout 300 "$weft" verify $kernel --target "$target" --device "$device" 2>&1); then
    echo "right $1"
  else
    printf "WRONG %s\n%s\n" "$1" "$said"
  fi' _ <"$work/list" >"$work/out"

grep -v '^\(right\|unfit\) ' "$work/out" | head -n 100
count() { grep -c "^$1 " "$work/out"; }
right=$(count right) unfit=$(count unfit) spilling=$(count SPILLS)
wrong=$(($(wc -l <"$work/list") - right - unfit))
echo "$unfit forms did not fit"
echo "$right right, $wrong wrong, $spilling spill"
[ "$right" -gt 0 ] && [ "$wrong" -eq 0 ] && [ "$spilling" -eq 0 ]
