#!/usr/bin/env bash
# Launches that overlap (programmatic dependent launch): 10,000 launches of each of three packages in two streams, each
# result compared with that of launches in order; and what a launch takes in a captured graph, in order and overlapped.
# One package has streams of the weights, one splits its sums between blocks, one has 2:4 weights. sm_90 and newer.
#   tests/gpu/overlapped_launches.sh build/release/weft [WORK [SIZE [LAUNCHES]]]
# Needs nvcc, a C compiler and CMake. Measures for half a minute at most; exits 1 when something is wrong. [SKIP] without a device.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
weft=$1
work=${2:-$(mktemp -d)}
size=${3:-4096}
launches=${4:-10000}
mkdir -p "$work"
export PATH=$PATH:/usr/local/cuda/bin
if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "[SKIP] no CUDA device"
  exit 0
fi

export_one() { # NAME OPTIONS
  "$weft" export --op linear --layout nk --dtype f16 --n 8 --alpha 1 --archs sm_90a --overlap-launches \
    --name "$1" -o "$work/$1" "${@:2}" >"$work/$1.txt" 2>&1 || { cat "$work/$1.txt"; exit 1; }
}
export_one streams --weights "made:M=$size,K=$size,sparsity=0.6" --format lane_streams --recipe "lane_streams:slice=$size" &
export_one splits --weights "made:M=$size,K=$size,sparsity=0.6" --format lane_streams --recipe lane_streams:slice=512 &
export_one pairs --weights "made:M=$size,K=$size,V=1,of=4" --format n_m &
for job in $(jobs -p); do wait "$job" || exit 1; done
cmake -S "$here/overlapped_launches" -B "$work/build" -DPACKAGES="$work" -DCMAKE_BUILD_TYPE=Release >"$work/build.txt" 2>&1 &&
  cmake --build "$work/build" -j 8 >>"$work/build.txt" 2>&1 || { tail -n 40 "$work/build.txt"; exit 1; }
timeout 30 "$work/build/overlapped_launches" "$work" "$launches"
