#!/usr/bin/env bash
# How near `weft tune` comes to exhaustive search: every point of the spaces of some problems is timed once (the
# oracle), then each problem is tuned afresh.
#   tests/gpu/tune_oracle.sh build/release/weft FOLDER [SECONDS [LIST]]
# FOLDER keeps the databases, oracle.jsonl and tuned.jsonl, so that the next call goes on where this one was: call it
# until it says that all is measured. After SECONDS (default 560) nothing is begun. LIST has a problem a line:
#   M K sparsity V N dtype
# with V = 0 for unstructured weights; "-" or nothing stands for the twelve below, of the suites sparsert_spmm and
# shfl_bw_linear, the smaller ones first. In the environment: JOBS (builds at the same time, default all cores), TRIALS
# (of a search, default 40), STRATEGY (of the oracle: exhaustive, every point worth trying, or feasible), TARGET, MEASURE
# (default gpu), MORE (flags for weft tune, as "--set stages=3,4").
# Prints the ratio of each problem to its oracle, the mean and the worst; exits 1 when something failed, and 3 while
# something is left to measure.
set -u
weft=$1
folder=$2
deadline=$(($(date +%s) + ${3:-560}))
list=${4:--}
trials=${TRIALS:-40}
strategy=${STRATEGY:-exhaustive}
measure=${MEASURE:-gpu}
flags=(--op spmm --measure "$measure" --progress plain)
[ -n "${JOBS:-}" ] && flags+=(--jobs "$JOBS")
[ -n "${TARGET:-}" ] && flags+=(--target "$TARGET")
read -r -a more <<< "${MORE:-}"
if [ "$measure" = gpu ] && ! "$weft" devices 2> /dev/null | grep -q '^cuda'; then
  echo "[SKIP] no CUDA device"
  exit 0
fi
mkdir -p "$folder" || exit 2

problems() {
  if [ "$list" != - ]; then
    cat "$list"
    return
  fi
  cat << 'P'
512 256 0.9 0 196 f32
512 2048 0.95 0 49 f32
256 1024 0.9 0 196 f32
128 64 0.9 0 3136 f32
512 128 0.95 0 784 f32
2048 512 0.9 0 256 f32
512 512 0.75 64 512 f16
2048 2048 0.75 64 128 f16
1024 1024 0.5 32 512 f16
4096 1024 0.85 128 512 f16
2048 2048 0.9 64 2048 f16
5120 5120 0.75 128 512 f16
P
}

failed=0
left=0
# tune DATABASE STRATEGY TRIALS FLAGS…: within the time that is left; true when all was measured.
tune() {
  local database=$1 strategy=$2 count=$3 seconds=$((deadline - $(date +%s)))
  shift 3
  if [ "$seconds" -lt 10 ]; then
    left=1
    return 1
  fi
  "$weft" tune "${flags[@]}" "$@" --strategy "$strategy" --trials "$count" --time "$seconds" --db "$folder/$database" \
    --out "$folder/best.weft.json" --json > "$folder/last.json" 2> "$folder/last.txt"
  local code=$?
  tail -n 1 "$folder/last.txt"
  if [ $code != 0 ] && ! grep -q '"trials"' "$folder/last.json"; then
    echo "failed ($code): $*"
    cat "$folder/last.txt"
    failed=1
    return 1
  fi
  local made points
  made=$(sed -n 's/^  "trials": \([0-9]*\),*$/\1/p' "$folder/last.json")
  points=$(sed -n 's/^  "points": \([0-9]*\),*$/\1/p' "$folder/last.json")
  [ "$count" -lt "$points" ] && points=$count
  if [ "$made" -lt "$points" ]; then
    left=1
    return 1
  fi
}

while read -r m k sparsity v n dtype; do
  [ -z "$m" ] && continue
  weights=made:M=$m,K=$k,sparsity=$sparsity
  format=csr
  if [ "$v" != 0 ]; then
    weights+=,V=$v
    format=shfl_bw:V=$v
  fi
  echo "== $weights, N=$n, $dtype"
  of_problem=(--weights "$weights" --format "$format" --n "$n" --dtype "$dtype" "${more[@]}")
  tune oracle.jsonl "$strategy" 1000000 "${of_problem[@]}" || continue
  # A search that knew other problems would begin with their best; each has a database of its own.
  begin=$(date +%s%N)
  tune "tuned_${m}_${k}_${sparsity}_${v}_${n}.jsonl" ranked "$trials" "${of_problem[@]}" &&
    echo "tuned in $((($(date +%s%N) - begin) / 1000000)) ms"
done < <(problems)

shopt -s nullglob
tuned=("$folder"/tuned_*.jsonl)
if [ ${#tuned[@]} -gt 0 ]; then
  rm -f "$folder/tuned.jsonl"
  "$weft" db merge "${tuned[@]}" -o "$folder/tuned.jsonl" --allow-arch > /dev/null || failed=1
  "$weft" db regret "$folder/oracle.jsonl" --searched "$folder/tuned.jsonl" || failed=1
  echo "played through on the oracle's times, $trials trials, the median of 20 seeds:"
  "$weft" db regret "$folder/oracle.jsonl" --trials "$trials" | tail -n 1
fi
[ $failed = 1 ] && exit 1
if [ $left = 1 ]; then
  echo "not all is measured: call it again"
  exit 3
fi
echo "all is measured"
