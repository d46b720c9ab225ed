// The search of a network whose device is elsewhere, or that several machines share: a plan for each class of
// layers.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/search/network/network_tuning.h>

#include <cstddef>
#include <string>
#include <vector>

namespace weft {

/// The file with the names of a plan's shards, one a line, those first that take longest.
std::string shards_file(const std::string& folder);

/// For each class at each number of columns a shard: a folder with the plan of its likeliest points, at most
/// `options.most_trials`, and the weights of one of its layers. Any machine measures a shard by itself, in
/// any order, as a plan of one layer (search/trials/plan.h). Returns their names. UserError where nothing can
/// be searched for, or where the folder has shards already; where it cannot be written, errors as
/// refuse_path().
std::vector<std::string> write_network_plan(Network& network, const Target& target, const std::string& folder,
                                            const NetworkTuneOptions& options, CallPlace place = {});

/// What came back from the shards of a plan.
struct AbsorbedPlan {
  std::size_t shards = 0;
  std::vector<std::string> without;   ///< shards that have no results yet
  std::vector<std::string> warnings;  ///< lines of results that could not be read
  std::size_t trials = 0;             ///< in their results
  std::size_t added = 0;              ///< that the database did not have
};
/// Appends the results of all shards to the database, or where one is refused none; what it has already
/// counts for nothing, so that shards may come back in any order, and more than once. UserError where
/// `folder` is no such plan, and for results that are no database.
AbsorbedPlan absorb_network_plan(const std::string& folder, RecordFile& file, CallPlace place = {});

}  // namespace weft
