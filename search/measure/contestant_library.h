// A shared library of somebody's own with the functions of contestant_interface.h.
#pragma once

#include <weft/backends/runtime/shared_library.h>
#include <weft/search/measure/contestant_interface.h>

#include <memory>
#include <string>

namespace weft {

/// A loaded library. It stays loaded until the program ends. What a call says against its problem is a
/// UserError, what fails and what is thrown a RuntimeError, both in a sentence.
class ContestantLibrary {
 public:
  /// The one shared library of the folder. UserError where that has none or several, and where the library
  /// cannot be loaded, lacks functions, is of another interface, or has no name that a table can have.
  static std::shared_ptr<const ContestantLibrary> open(const std::string& folder);

  const std::string& name() const { return name_; }
  /// "mine 1.2 (libmine.so)"
  const std::string& version() const { return version_; }
  bool rounds_to_tf32() const { return rounds_to_tf32_; }

  weft_contestant_wishes take(const weft_contestant_problem& problem) const;
  /// The handle of its launches, for release().
  void* prepare(const weft_contestant_problem& problem, const weft_contestant_operands& operands) const;
  void launch(void* prepared, void* stream) const;
  void release(void* prepared) const noexcept;

 private:
  void resolve(const std::string& where);
  void describe(const std::string& where);

  SharedLibrary library_;
  std::string name_;
  std::string version_;
  bool rounds_to_tf32_ = false;
  decltype(&weft_contestant_describe) describe_ = nullptr;
  decltype(&weft_contestant_takes) takes_ = nullptr;
  decltype(&weft_contestant_prepare) prepare_ = nullptr;
  decltype(&weft_contestant_launch) launch_ = nullptr;
  decltype(&weft_contestant_release) release_ = nullptr;
};

}  // namespace weft
