// The parts of the table of mutants.
#pragma once

#include "mutants.h"

namespace weft::mutants {

std::span<const Mutant> mutants_of_loops();       ///< kernels of plain loads, stores, shuffles and barriers
std::span<const Mutant> mutants_of_copies();      ///< kernels of cp.async and mma.sync
std::span<const Mutant> mutants_of_warpgroups();  ///< kernels of bulk copies and wgmma
std::span<const Mutant> mutants_of_blocks();      ///< kernels of several blocks, clusters and named barriers

}  // namespace weft::mutants
