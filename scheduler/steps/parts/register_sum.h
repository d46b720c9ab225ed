// Sums in registers, as programs start with them: what steps that deal a sum to several workers take apart.
#pragma once

#include <weft/scheduler/program/step.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace weft::steps {

/// What stands inside the allocation of a sum's registers: first values, which are zeros, the sum itself, and
/// what becomes of it.
struct RegisterSum {
  ir::BufferRef buffer;
  std::vector<ir::Stmt> first, last;
  ir::Stmt update;  ///< holds the loop of the sum
};

/// The registers that the loop adds to, or why there are none: precondition `number` of a step.
std::variant<RegisterSum, Reason> find_register_sum(const ir::Stmt& body, const std::string& loop,
                                                    int number);

/// The statements of the first values, with another statement for each element of the sum.
std::vector<ir::Stmt> each_element(const RegisterSum& sum,
                                   const std::function<ir::Stmt(const std::vector<ir::Expr>&)>& make);

}  // namespace weft::steps
