// Elements that threads load and store themselves, several under way together.
#pragma once

#include <weft/scheduler/ir/simplify.h>

#include <cstdint>
#include <functional>
#include <string>

namespace weft::passes {

/// What a thread does with the element of one round.
struct ElementRound {
  std::function<ir::Expr(const ir::Expr& round)> load;  ///< may be computed whether or not it is of use
  std::function<ir::Stmt(const ir::Expr& round, const ir::Expr& loaded)> store;
};

/// `rounds` rounds, in which a thread loads 16 elements before it stores the first of them: one after the
/// other, each would wait for memory. `like` is the buffer that elements come from, `kind` the loop over such
/// batches; `name` begins the names of loops and registers.
ir::Stmt loads_ahead(const ir::Buffer& like, std::int64_t rounds, int step, const std::string& name,
                     const ElementRound& element, ir::LoopKind kind = ir::LoopKind::serial);

/// Whether there is an element to read in place of one that is not there. Arrays of the weights may be empty.
bool has_elements(const ir::Buffer& buffer);

/// The index of a dimension, moved inside the buffer where it may lie beyond, so that something can be read
/// there.
ir::Expr moved_inside(const ir::Buffer& buffer, std::size_t dimension, ir::Expr index,
                      const ir::Ranges& ranges);

}  // namespace weft::passes
