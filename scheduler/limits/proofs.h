// What holds of a program for every shape and pattern that it may be given, proved rather than tried.
//
//   for (const Proof& proof : prove(schedule)) fmt::print("{}\n", text_of(proof));
//
// Z3 is asked about symbolic sizes, lists of any length, and row orders that are any permutation; what a
// format promises of its arrays (SparseTensor::check) is all that it may assume of them.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/program/schedule.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft {

enum class ProofOutcome : std::uint8_t {
  proved,
  refuted,  ///< `witness` says where it fails
  unknown,  ///< the effort was spent, or the claim is about something that is not modelled
};

enum class Claim : std::uint8_t {
  inside,        ///< an access stays inside its buffer
  written_once,  ///< no two iterations write the same element of a buffer in global memory
  all_written,   ///< every element of the output is written
};

struct Proof {
  Claim claim = Claim::inside;
  std::string place;  ///< the access, as the program prints it
  ProofOutcome outcome = ProofOutcome::unknown;
  /// The sizes and loop variables at which a refuted claim fails.
  std::map<std::string, std::int64_t> witness = {};
};

/// The claims about the schedule's program, as the tile level means it, in the order of its accesses. Groups
/// of blocks that share a sum write parts of their own (`written_once` of the workspace) before one of them
/// adds the parts up. Accumulating stores are in no claim of `written_once`: they add to what is there.
/// Without Z3, or where a program has thousands of accesses, as baked code, outcomes are `unknown` unless
/// interval arithmetic is enough.
std::vector<Proof> prove(const Schedule& schedule, CallPlace place = {});
/// The same of a program that was made or changed by hand.
std::vector<Proof> prove(const ir::Program& program, const Algorithm& algorithm, const SparseTensor* weights,
                         CallPlace place = {});

/// One line: "proved: C[A.row_order[…], …] is inside", with the witness of what is refuted, which assumes
/// contents of index arrays that their format allows and these weights need not have.
std::string text_of(const Proof& proof);
/// For a summary: "41 accesses inside, 1 output written once and whole; nothing refuted, 2 unknown".
std::string summary_of(const std::vector<Proof>& proofs);

}  // namespace weft
