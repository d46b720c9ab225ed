// Variables that passes make. Names of a user have no dots, so that none of his is called so.
#pragma once

#include <weft/scheduler/ir/node.h>

namespace weft::passes {

inline constexpr const char* thread_name = "thread.index";  ///< the number of the thread in its block
inline constexpr const char* producer_name = "producer.";   ///< that among the threads that start copies

inline ir::Expr thread_number() {
  return ir::variable(thread_name);
}
inline ir::Expr producer_number() {
  return ir::variable(producer_name);
}

}  // namespace weft::passes
