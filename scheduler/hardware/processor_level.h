// Levels of processors: what code can be made for without the processor at hand.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace weft {

/// Any processor of an architecture that has the instructions of a level, or of one above it.
struct ProcessorLevel {
  std::string_view name;          ///< the target's: "x86-64-v3"
  std::string_view architecture;  ///< "x86-64"
  int level;                      ///< 3; compared within an architecture
  std::string_view vectors;       ///< what its vector instructions are called: "AVX2"
  std::int64_t vector_bytes;
};

std::span<const ProcessorLevel> processor_levels();
/// Null where there is none of that name.
const ProcessorLevel* processor_level(std::string_view name);

}  // namespace weft
