#pragma once

#include <torch/csrc/stable/tensor.h>

namespace torch::stable {

struct Library {
  void def(const char*) {}
  template <class Function>
  void impl(const char*, Function) {}
};

}  // namespace torch::stable

#define TORCH_BOX(function) (function)
#define WEFT_STUB_LIBRARY(name, library)             \
  static void name(torch::stable::Library& library); \
  static const bool name##_made = [] {               \
    torch::stable::Library made;                     \
    name(made);                                      \
    return true;                                     \
  }();                                               \
  static void name([[maybe_unused]] torch::stable::Library& library)
#define STABLE_TORCH_LIBRARY_FRAGMENT(space, library) WEFT_STUB_LIBRARY(space##_fragment, library)
#define STABLE_TORCH_LIBRARY_IMPL(space, key, library) WEFT_STUB_LIBRARY(space##_##key, library)
