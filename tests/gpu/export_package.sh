#!/usr/bin/env bash
# Exported packages on a GPU: results, graphs, streams, sanitizer, the cost of a launch, PyTorch. Needs a C++ compiler,
# nvcc, CMake and python3; neither weft nor LLVM. The packages are made beforehand by build/bin/export_packages:
#   build/bin/export_packages PACKAGES
#   tests/gpu/export_package.sh PACKAGES [WORK]
# PACKAGES of another machine will do. Prints a table last; exits 1 when a line of it is wrong. [SKIP] without a device.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=$(cd "$1" && pwd) || exit 2
work=${2:-$(mktemp -d)}
mkdir -p "$work"
export PATH=$PATH:/usr/local/cuda/bin
if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "[SKIP] no CUDA device"
  exit 0
fi

names=() verdicts=()
note() { names+=("$1"); verdicts+=("$2"); }
# check NAME COMMAND...: the last line that the command prints is its verdict; a failure shows the whole of it.
check() {
  local name=$1 log="$work/log.txt"
  shift
  if "$@" >"$log" 2>&1; then
    note "$name" "ok    $(tail -n 1 "$log")"
  else
    note "$name" "WRONG $(grep -E 'FAILED|rror' "$log" | head -n 1)"
    tail -n 40 "$log"
  fi
}

# A smoke test that went on without the device does not count.
on_device() { "$@" | tee "$work/smoke.txt" && grep -q "passed, on the device" "$work/smoke.txt"; }
build() { cmake -S "$1" -B "$2" -DCMAKE_BUILD_TYPE=Release "${@:3}" && cmake --build "$2" -j 8; }

for name in plain baked grouped blocks tokens image split; do
  check "build $name, gcc alone" build "$packages/$name" "$work/$name"
  check "smoke $name" on_device "$work/$name/${name}_smoke" "$packages/$name/weights/$name.safetensors"
  check "memcheck smoke $name" compute-sanitizer --error-exitcode 9 \
    "$work/$name/${name}_smoke" "$packages/$name/weights/$name.safetensors"
done
check "build plain from its CUDA sources" build "$packages/plain" "$work/plain_nvcc" -DPLAIN_FROM_SOURCE=ON
check "smoke plain from its CUDA sources" on_device "$work/plain_nvcc/plain_smoke" "$packages/plain/weights/plain.safetensors"

check "build the launch tests" build "$here/export_package" "$work/launch" "-DPACKAGES=$packages"
for what in results graph streams counters devices wrong; do
  check "$what" "$work/launch/launch" "$what" "$packages"
done
check "memcheck all of these" compute-sanitizer --error-exitcode 9 "$work/launch/launch" few "$packages"
check "racecheck all of these" compute-sanitizer --tool racecheck --error-exitcode 9 "$work/launch/launch" few "$packages"
check "host time of a launch" "$work/launch/launch" overhead "$packages"

if python3 -c 'import torch' 2>/dev/null; then
  for name in plain baked grouped split; do
    check "build torch $name" build "$packages/$name/torch" "$work/torch_$name"
  done
  check "torch" env PYTHONPATH="$work/torch_plain:$work/torch_baked:$work/torch_grouped:$work/torch_split" python3 "$here/export_package/torch_test.py"
else
  note "torch" "ok    [SKIP] no torch here"
fi

echo
wrong=0
for i in "${!names[@]}"; do
  printf '%-36s %s\n' "${names[$i]}" "${verdicts[$i]}"
  [[ ${verdicts[$i]} == ok* ]] || wrong=$((wrong + 1))
done
echo "$((${#names[@]} - wrong)) right, $wrong wrong"
[ "$wrong" -eq 0 ]
