# Sourced by the scripts that check kernels of a recipe. Their cases are the options of `weft verify`, a line each, which
# are done side by side until $deadline (seconds since 1970) with the command $weft on $device.

if ! python3 -c 'import numpy' 2>/dev/null; then
  echo "[SKIP] no numpy to make weights with"
  exit 0
fi
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

run_case() { # WEFT DEVICE DEADLINE OPTIONS [what runs the command]
  [ "$(date +%s)" -lt "$3" ] || { echo late; return; }
  # shellcheck disable=SC2086
  said=$(timeout 120 ${5:-} "$1" verify --device "$2" --b ints:5 $4 2>&1) && echo right && return
  echo "wrong: ${5:-} $4"
  echo "$said" | tail -3
}
export -f run_case

# A line "right" or "late", or what was wrong, for each case of a file.
verify_cases() { # FILE JOBS [what runs the command]
  # shellcheck disable=SC2154
  tr '\n' '\0' <"$1" | xargs -0 -P "$2" -I{} bash -c 'run_case "$@"' _ "$weft" "$device" "$deadline" {} "${3:-}"
}

# Prints what was wrong and "N right, M wrong, K too late"; fails where something was, or nothing was right.
count_cases() { # FILE that verify_cases wrote
  local right wrong
  grep -v -x -e right -e late "$1"
  right=$(grep -c -x right "$1")
  wrong=$(grep -c '^wrong' "$1")
  echo "$right right, $wrong wrong, $(grep -c -x late "$1") too late"
  [ "$wrong" -eq 0 ] && [ "$right" -gt 0 ]
}
