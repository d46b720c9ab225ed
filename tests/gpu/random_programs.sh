#!/usr/bin/env bash
# Random programs on a GPU: kernels by chance, of every recipe and of steps that nobody chose, run there and compared with
# the naive evaluation; some of them under compute-sanitizer.
#   tests/gpu/random_programs.sh RANDOM_CALLS [SECONDS] [SEED] [SANITIZED]
# RANDOM_CALLS is the test's executable. For a machine without LLVM and Z3 it is linked as the portable command is:
#   cmake --preset portable -DWEFT_BUILD_TESTS=ON && cmake --build build/portable --target random_calls
# SANITIZED programs from SEED on go through memcheck and racecheck each. Exits 1 when a result is wrong, a kernel faults or a
# tool finds an error.
set -u
random_calls=$1
seconds=${2:-120}
seed=${3:-1}
sanitized=${4:-150}
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
end=0

"$random_calls" --cuda --seed "$seed" --seconds "$seconds" || end=1
[ "$sanitized" -gt 0 ] || exit $end
if ! command -v "$sanitizer" >/dev/null; then
  echo "no compute-sanitizer here: nothing was sanitized"
  exit $end
fi
for tool in memcheck racecheck; do
  said=$(timeout 900 "$sanitizer" --tool "$tool" --print-limit 20 \
    "$random_calls" --cuda --here --seed "$seed" --programs "$sanitized" --seconds 600 2>&1)
  errors=$(printf '%s\n' "$said" | sed -n -e 's/.*RACECHECK SUMMARY: .*(\([0-9]*\) error.*/\1/p' \
    -e 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p' | tail -n 1)
  printf '%s\n' "$said" | grep -E '^[0-9]+ programs'
  echo "$tool: ${errors:-?} errors in $sanitized programs from seed $seed"
  [ "${errors:-?}" = 0 ] && continue
  printf '%s\n' "$said" | grep -v '^ *$' | tail -n 100
  end=1
done
exit $end
