// Tensors with something wrong in them, and what is said of it.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/formats/sparse_tensor.h>

#include <string>

namespace weft {

/// What `check` says: "where | found | accepted", or "none".
std::string complaint(const SparseTensor& tensor);
/// The tensor with another array under that name.
SparseTensor with_array(const SparseTensor& tensor, const std::string& name, const Array& array);
/// The tensor with another element in an array.
SparseTensor damaged(const SparseTensor& tensor, const std::string& name, std::int64_t element, double value);

/// The UserError that the action ends in; "no UserError" where it ends in none.
template <class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no UserError";
}

}  // namespace weft
