// Reading PTX text.
#pragma once

#include <weft/backends/simulator/ptx/module.h>

#include <string_view>

namespace weft::simulator::ptx {

/// Reads a module: everything that nvcc, NVRTC and LLVM emit, and what a person writes by the PTX ISA. Checks
/// the grammar, that every name is declared, once, and that labels exist; not what instructions mean. Debug
/// sections are skipped.
/// UserError with the line, the text found there and what would be accepted. Takes time and memory in
/// proportion to the text.
Module parse(std::string_view text);

}  // namespace weft::simulator::ptx
