// Which of the kernels of a package that take a size runs. For files of this folder.
#pragma once

#include <weft/backends/export/package.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::exporting {

/// Sizes from `least` to `most`, and numbers of kernels: the first of them that takes a size runs.
struct SizeSpan {
  std::int64_t least = 1;
  std::int64_t most = 1;
  std::vector<std::size_t> kernels;
};

/// In ascending order, without gaps. Where every kernel says how long it takes, the fastest at the beginning
/// of a span comes first, else the one that was given first.
std::vector<SizeSpan> size_spans(const TargetGroup& group);

/// The statements of a function of C that returns the number of the kernel for `n`, -1 where there is none.
std::string print_choice(const TargetGroup& group);

}  // namespace weft::exporting
