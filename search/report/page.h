// One self-contained HTML page about measured trials: no network, no script.
#pragma once

#include <weft/search/records/record_file.h>

#include <string>
#include <vector>

namespace weft::report {

/// The kernel that the page shows, in words; what is empty is left out.
struct ChosenKernel {
  std::string schedule;  ///< steps as C++
  std::string program;
  std::string source;
  std::string language = "CUDA";  ///< language of `source`
  std::string note;               ///< why something is missing
};

struct PageInput {
  std::vector<StoredRecord> records;
  std::vector<std::string> files;  ///< where they come from
  std::string verdict;             ///< a few lines; empty: made of the records
  ChosenKernel kernel;             ///< that of the fastest record of the problem with the most trials
  /// What the page may have: texts and lists of trials are cut for it. The charts take up to 800 KB of it.
  std::size_t most_bytes = 2'000'000;
};

/// The page: the network, where the records name its layers; the best of every problem; charts; the verdict,
/// trials and kernel of the problem with the most trials; those of the others, folded; what to type next; and
/// all shown numbers once more as JSON in an element of the id "data". UserError where no record has the
/// sizes of its problem.
std::string page_of(const PageInput& input);

}  // namespace weft::report
