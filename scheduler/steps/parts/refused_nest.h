// What tensorize says of a nest of loops that no instruction does, and what would be one.
#pragma once

#include <weft/scheduler/steps/parts/loops.h>

#include <optional>
#include <string>

namespace weft::steps {

class RefusedNest {
 public:
  RefusedNest(const ir::Program& program, const StepContext& context)
      : program_(program), context_(context) {}

  /// Precondition 2: the sum has conditions.
  Reason asks_something(const ir::Chain& chain, const ir::Store& store) const;
  /// Precondition 3. What is most often missing is told first.
  Reason other_form(const ir::Chain& chain, const ir::Store& store) const;
  /// The same where something else stands beside the sum, such as a copy; nothing where no loop goes through
  /// the entries of a row.
  std::optional<Reason> goes_through_rows() const;
  /// Precondition 4.
  Reason not_shared(const ir::Load& factor, const ir::Chain& chain) const;

 private:
  /// What leaves no condition: tiles that are zero where nothing is read, or, of those that stage has copied
  /// already, a factor that divides the size.
  std::string without_condition(const ir::Chain& chain, const ir::Store& store) const;
  /// ", such as .stage(…).stitch(…)", of factors of which the weights' columns say what is read.
  std::string copies(const ir::Chain& chain, const ir::Store& store) const;
  /// The innermost loop of the sum around these.
  std::string place_of_copies(const ir::Chain& chain) const;

  const ir::Program& program_;
  const StepContext& context_;
};

}  // namespace weft::steps
