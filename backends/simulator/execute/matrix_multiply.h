// mma.sync and mma.sp.
#pragma once

#include <weft/backends/simulator/machine/warp.h>

#include <algorithm>

namespace weft::simulator::matrix {

/// Whether all lanes run the operation, as matrix instructions need; reported where not.
bool whole_warp(Warp& warp, const Operation& operation);

/// A value that all lanes have to agree on; reported where they do not.
template <class T>
T uniform(Warp& warp, const Operation& operation, std::size_t which, std::string_view what) {
  const T* const values = warp.source<T>(operation, which);
  if (std::any_of(values, values + lanes, [values](T value) { return value != *values; }))
    warp.report(operation, "not uniform", std::string(what) + " differs between the lanes of a warp");
  return *values;
}

/// Opcode::choose of mma.
Handler choose_multiply(const ptx::Instruction& instruction, Operation& operation);

}  // namespace weft::simulator::matrix
