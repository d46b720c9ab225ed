// WEFT_DUMP: what a compile went through, as numbered files.
#pragma once

#include <weft/scheduler/ir/program.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace weft {

/// Writes below $WEFT_DUMP/<kernel>; does nothing where WEFT_DUMP is not set. Where a file cannot be
/// written, errors as refuse_path().
class Dump {
 public:
  explicit Dump(const std::string& kernel);
  /// "03_reorder.txt"
  void program(std::string_view name, const ir::Program& program) const;
  /// Writes `text` as `name` and returns it, unless the file of an earlier compile of the same text was
  /// edited since: then the edited text.
  std::string edited(const std::string& name, std::string text) const;
  bool is_on() const { return !folder_.empty(); }

 private:
  std::filesystem::path folder_;
  mutable int count_ = 0;
};

}  // namespace weft
