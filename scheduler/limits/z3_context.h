// Where questions to Z3 are asked.
#pragma once

#include <z3++.h>

#include <new>

namespace weft {

/// A context, or std::bad_alloc where there is no memory for one: z3::context itself reads from what it did
/// not get.
class Z3Context {
 public:
  Z3Context() : handle_(Z3_mk_context_rc(z3::config())), context_(handle_or_error()) {}
  ~Z3Context() { Z3_del_context(handle_); }
  Z3Context(const Z3Context&) = delete;
  Z3Context& operator=(const Z3Context&) = delete;

  z3::context& operator*() { return context_(); }

 private:
  Z3_context handle_or_error() const {
    if (handle_ == nullptr) throw std::bad_alloc();
    return handle_;
  }

  Z3_context handle_;
  z3::scoped_context context_;  ///< lets go of the handle, which it does not own
};

}  // namespace weft
