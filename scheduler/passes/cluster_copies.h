// Copies that the blocks of a cluster make for one another.
#pragma once

#include <weft/scheduler/program/step.h>

#include <cstdint>
#include <optional>

namespace weft::passes {

/// Whether a copy goes to all blocks of the program's cluster.
bool goes_to_cluster(const ir::Program& program, const ir::Copy& copy);

/// The part of a tile that a block of the cluster copies, whose number is the cluster's loop: some of its
/// outermost rows. Nothing where these cannot be shared out evenly, in whole lines of the tile's layout.
std::optional<ir::Copy> share_of(const ir::Copy& copy, const ir::Cluster& cluster);

/// Which block of the cluster receives what a bit stands for: all of them.
std::int64_t mask_of(const ir::Cluster& cluster);

/// Why blocks cannot copy to one another as the program's cluster promises, with the number of the
/// precondition of multicast (3 to 8).
std::optional<Reason> why_no_cluster(const ir::Program& program, const Target& target);

}  // namespace weft::passes
