// Elements that threads load and store themselves, several under way together.
#pragma once

#include <weft/scheduler/ir/simplify.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::passes {

/// The element that a thread copies in a round.
struct ElementRound {
  std::function<std::vector<ir::Expr>(const ir::Expr& round)> from;  ///< inside the source in any case
  std::function<std::vector<ir::Expr>(const ir::Expr& round)> to;
  std::function<ir::Expr(const ir::Expr& round)> inside;  ///< else zero is stored
};

/// A copy by elements in `rounds` rounds, of which a thread loads 16 before it stores the first of them: one
/// after the other, each would wait for memory. `kind` is the loop over such batches; `name` begins the names
/// of loops and registers.
ir::Stmt loads_ahead(const ir::Copy& copy, std::int64_t rounds, const std::string& name,
                     const ElementRound& element, ir::LoopKind kind = ir::LoopKind::serial);

/// Whether there is an element to read in place of one that is not there. Arrays of the weights may be empty.
bool has_elements(const ir::Buffer& buffer);

/// The index of a dimension, moved inside the buffer where it may lie beyond, so that something can be read
/// there.
ir::Expr moved_inside(const ir::Buffer& buffer, std::size_t dimension, ir::Expr index,
                      const ir::Ranges& ranges);

}  // namespace weft::passes
