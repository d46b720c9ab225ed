#!/usr/bin/env bash
# The kernels of the recipe hb_ell against the f64 reference: odd rows, columns and widths, blocks of every width
# and empty ones, offsets of 4 and 8 bits, f16 and bf16, epilogues, code for sm_75, sm_80 and sm_90a, all forms:
# blocks with entries alone, every block, and two of four, of which compute-sanitizer runs small ones. Then their
# times beside cuBLAS and cuSPARSE.
#   tests/gpu/hb_ell_kernels.sh build/release/weft DATA [JOBS [DEVICE [SECONDS_TO_VERIFY [SECONDS_TO_TIME]]]]
# DATA: a folder of .smtx and .npy weights of the shapes in the suite below. JOBS and DEVICE: as shfl_bw_kernels.sh.
# SECONDS_TO_TIME 0: no times; ROUNDS in the environment: of each, 15; SANITIZE=no: no sanitizer. Needs Python with
# numpy. Prints what is wrong, "N right, M wrong", and a table; exits 1 when something is wrong.
set -u
weft=$1
data=$2
jobs=${3:-16}
device=${4:-cuda}
deadline=$(($(date +%s) + ${5:-60}))
timing=${6:-150}
# shellcheck source-path=SCRIPTDIR source=verify_cases.sh
. "$(dirname "$0")/verify_cases.sh"

python3 - "$work" <<'P'
import sys
import numpy as np
random = np.random.default_rng(11)
sizes = [1, 7, 15, 16, 17, 33, 63, 65, 127, 129, 200, 1000]
for number in range(96):
    rows, depth = sizes[number % 12], sizes[(number * 5 + number // 12) % 12]
    density = np.kron(random.choice([0, 0, 0.02, 0.1, 0.3, 0.6, 0.9], ((rows + 15) // 16, (depth + 15) // 16)),
                      np.ones((16, 16)))[:rows, :depth]
    values = random.integers(-3, 4, (rows, depth)) if number % 2 else random.normal(size=(rows, depth))
    np.save(f"{sys.argv[1]}/{number:02}.npy", (values * (random.random((rows, depth)) < density)).astype(np.float16))
P

widths=(1 7 8 9 31 33 63 64 65 127 128 129 200 256 512 1000)
targets=(sm_90a sm_80 sm_90a sm_75 sm_90a)
forms=("" ":every=8" ":pairs=1" ":every=4,offset=4" ":offset=4,step=4" ":pairs=1,k=128" ":every=8,step=4")
epilogues=("" "--bias random:4 --activation relu" "--alpha -1.5 --beta 0.5 --c random:9 --activation relu" "" "--bias ints:3 --activation gelu")
knobs=("" "" ":stages=1" ":stages=2,tile_n=64" "" ":groups=3")
number=0
for weights in "$work"/[0-9]*.npy; do
  for turn in 0 1 2; do
    target=${targets[$(((number + turn) % 5))]}
    type=f16
    [ $((number % 7)) -eq 3 ] && [ "$target" != sm_75 ] && type=bf16
    recipe=hb_ell${knobs[$(((number / 5) % 6))]}
    [ "$target" = sm_75 ] && recipe=hb_ell
    form=${forms[$(((number + turn) % 7))]}
    # Sparse tensor cores came later.
    [[ $form == *pairs* && $target = sm_75 ]] && recipe=default
    # What the recipe takes by itself for large products alone: warpgroups.
    [[ $form == *every* && $target = sm_90a && $((number % 4)) -eq 1 ]] && recipe=hb_ell:tile_m=64,tile_k=64,warp_m=64,tile_n=128,stages=2
    echo "--op spmm --weights $weights --n ${widths[$((number % 16))]} --format hb_ell$form --recipe $recipe --dtype $type --target $target ${epilogues[$((number % 5))]}"
    number=$((number + 1))
  done
done >"$work/cases"

if [ "${SANITIZE:-yes}" = yes ] && command -v compute-sanitizer >/dev/null; then
  for weights in "$work"/1[0-5].npy; do
    for target in sm_80 sm_90a; do
      echo "--op spmm --weights $weights --n 72 --format hb_ell:pairs=1 --recipe hb_ell --dtype f16 --target $target"
    done
  done >"$work/small"
  # racecheck does not follow a lane that arrives for its warp, as those with roles do on sm_90a (docs/simulator.md).
  grep sm_80 "$work/small" >"$work/small_80"
  {
    verify_cases "$work/small" "$jobs" "compute-sanitizer --error-exitcode 9 --tool memcheck"
    verify_cases "$work/small_80" "$jobs" "compute-sanitizer --error-exitcode 9 --tool racecheck"
  } >"$work/said"
fi
verify_cases "$work/cases" "$jobs" >>"$work/said"
failed=0
count_cases "$work/said" || failed=1
[ "$timing" -gt 0 ] || exit "$failed"

cat >"$work/suite.json" <<'J'
{"suite": "hb_ell_linear", "dtype": "f16", "sparsity": [0.9, 0.98, 0.8, 0.95], "n_scale": [32, 1, 8],
 "problems": [{"id": 1, "M": 2048, "K": 512, "N": 128}, {"id": 2, "M": 512, "K": 2048, "N": 128},
              {"id": 3, "M": 256, "K": 2304, "N": 128}, {"id": 4, "M": 512, "K": 512, "N": 128}]}
J
timeout "$timing" "$weft" bench --suite "$work/suite.json" --data "$data" --device "$device" \
  --recipe hb_ell,hb_ell_every,hb_ell_pairs,column_quads --rounds "${ROUNDS:-15}" --json "$work/lines" >"$work/table" 2>"$work/log"
tail -2 "$work/log"
[ -s "$work/lines" ] || exit 1
cp "$work/lines" "${LINES_TO:-$work/copy}"

# Where B must be read from L2 at 9.5 TB/s (docs/measurements.md), once for each 16 rows or each 128, and what
# mma.sync needs at 600 TFLOP/s.
python3 - "$work/lines" <<'P' || failed=1
import json, sys
print(f"{'M x K x N':>16} {'zero':>6} {'hb_ell':>8} {'every':>8} {'pairs':>8} {'quads':>8} {'cuSPARSE':>9} {'cuBLAS':>8} {'over CSR':>9} {'over dense':>10} {'16 rows':>8} {'128 rows':>9} {'tensor':>7}")
worst = 0
for line in open(sys.argv[1]):
    case = json.loads(line)
    p = case["problem"]
    m, k, n = p["M"], p["K"], p["N"]
    times = {}
    for entry in case["entries"]:
        name = entry["name"]
        if entry.get("wrong"):
            worst = 1
        if "us" in entry:
            times[name] = entry["us"]["median"]
    def of(*names):
        return min((t for name, t in times.items() for wanted in names if wanted in name), default=float("nan"))
    plain = times.get("weft hb_ell", float("nan"))
    every = times.get("weft hb_ell_every", float("nan"))
    pairs = times.get("weft hb_ell_pairs", float("nan"))
    quads = times.get("weft column_quads", float("nan"))
    csr, dense = of("cuSPARSE csr"), of("cuBLAS")
    ours = min(t for t in (plain, every, pairs, quads, float("inf")) if t == t)
    print(f"{m}x{k}x{n}".rjust(16), f"{100 * case['sparsity']['found']:5.1f}% {plain:8.2f} {every:8.2f} {pairs:8.2f} {quads:8.2f} {csr:9.2f} {dense:8.2f} {csr / ours:9.2f} {dense / ours:10.2f} {m * k * n / 8 / 9.5e6:8.2f} {m * k * n * 2 / 128 / 9.5e6:9.2f} {2 * m * k * n / 600e6:7.2f}")
sys.exit(worst)
P
exit "$failed"
