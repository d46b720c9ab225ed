// Which configurations are worth telling apart: the classes that the predictor chooses between.
#pragma once

#include <weft/search/model/timing_table.h>

#include <vector>

namespace weft {

/// The fastest configuration of each of these problems; of equally fast ones the first. -1 for the others.
std::vector<int> fastest_classes(const TimingTable& table, const std::vector<std::size_t>& problems);

/// STuning-DL, section IV-D, Algorithm 1: a configuration suits a problem where it reaches `threshold` of the
/// fastest one's performance. The configuration that suits the most problems is given to all of them, then
/// the one that suits the most of the rest, until every problem has one. Of equally popular ones the first. A
/// number for each problem of the table, -1 for those that are not in `problems`.
std::vector<int> normalised_classes(const TimingTable& table, const std::vector<std::size_t>& problems,
                                    double threshold = 0.98);

/// The labels that occur, each once, ascending, without -1.
std::vector<int> distinct(const std::vector<int>& labels);

}  // namespace weft
