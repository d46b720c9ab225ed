// Kernels with one thing changed.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace weft::mutants {

/// What is changed.
enum class Change { barrier, wait, fence, commit, predicate, index, swizzle, metadata, atomicity };

/// One edit of a kernel's text: `from` stands in it exactly once. Where `from` ends in a comment, the rest of
/// the comment goes too.
struct Mutant {
  const char* kernel;
  const char* name;
  Change change;
  const char* from;
  const char* to;
  /// How it shows in at least one run: a finding's kind or "wrong result". Of an equivalent mutant: why it is
  /// as right as the kernel.
  const char* expected;
  bool is_equivalent = false;
  bool may_hang = false;  ///< on a GPU, so it is not run there
};

const std::vector<Mutant>& mutants();
const char* name_of(Change change);
/// The kernel's text with the edit made. UserError when `from` is not in it exactly once.
std::string mutate(const std::string& text, const Mutant& mutant);

}  // namespace weft::mutants
