#!/usr/bin/env bash
# A virtual environment with the packages whose files weft reads and writes, for io_ecosystem_test, tests/network
# and the quick part of tests/accuracy:
#   tests/make_ecosystem.sh [FOLDER]      by default build/ecosystem
# and lets the tests of build/release use it. Needs a network; PyTorch is the one for processors alone.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/ecosystem}
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet numpy scipy safetensors onnx
"$folder/bin/pip" install --quiet torch --index-url https://download.pytorch.org/whl/cpu ||
  echo "note: without PyTorch, which could not be fetched"
[ ! -f "$root/build/release/CMakeCache.txt" ] || cmake -DWEFT_PYTHON="$folder/bin/python" "$root/build/release" >/dev/null
echo "$folder/bin/python has numpy, scipy, safetensors and onnx"
