#!/usr/bin/env bash
# Whether every library of the vendor that `weft bench` compares Shfl-BW weights with is found, right and timed: small
# products and convolutions of f16 in a minute, before the long tables are made.
#   tests/gpu/vendor_contestants.sh build/release/weft [DEVICE [OPTIONS_OF_BENCH...]]
# Prints the tables, then for each contestant in how many of the cases it was timed, and "all timed" or what was not.
# Exits 1 when a contestant was never timed, or one of weft's kernels was wrong.
set -u
weft=$1
device=${2:-cuda}
shift $(($# < 2 ? $# : 2))
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

cat >"$work/products.json" <<'END'
{"suite": "small_products", "dtype": "f16", "sparsity": [0.5], "V": [32, 64, 128], "problems": [
  {"M": 256, "K": 512, "N": 128}, {"M": 512, "K": 256, "N": 264}, {"M": 1024, "K": 1024, "N": 512}]}
END
cat >"$work/convolutions.json" <<'END'
{"suite": "small_convolutions", "dtype": "f16", "sparsity": [0.75], "V": [32], "batch": [2], "problems": [
  {"C": 64, "F": 64, "H": 14, "W": 14, "R": 3, "S": 3}, {"C": 64, "F": 128, "H": 15, "W": 13, "R": 3, "S": 3, "stride": 2},
  {"C": 128, "F": 64, "H": 14, "W": 14, "R": 1, "S": 1}]}
END

code=0
for suite in products convolutions; do
  "$weft" bench --suite "$work/$suite.json" --device "$device" --rounds 5 --json "$work/lines" "$@" || code=$?
done
[ -s "$work/lines" ] || exit "$code"

# A contestant has a "variant" in a line when one of its ways was right.
missing=0
for name in "cuBLAS f16" "cuBLAS f16, pruned weights" "cuSPARSE blocked ELL" "cuSPARSELt 2:4" "cuDNN f16" \
  "cuDNN f16, pruned weights"; do
  entered=$(grep -c "\"name\":\"$name\"[,}]" "$work/lines")
  timed=$(grep -c "\"name\":\"$name\",\"variant\"" "$work/lines")
  echo "$name: timed in $timed of $entered cases"
  [ "$timed" -gt 0 ] || missing=$((missing + 1))
done
if [ "$missing" -gt 0 ]; then echo "$missing contestants were never timed"; else echo "all timed"; fi
[ "$missing" -eq 0 ] && [ "$code" -ne 4 ]
