// What is given to a schedule, or a recipe, as weights or target and is neither yet: refused with one
// sentence, where the compiler would list all that it tried.
#pragma once

#include <weft/dsl/refused_call.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/weight_matrix.h>

#include <concepts>
#include <memory>
#include <string_view>

namespace weft::detail {

template <class Given>
concept IsText = std::convertible_to<const Given&, std::string_view>;
template <class Weights>
concept NotPacked = std::same_as<Weights, WeightMatrix>;

/// What schedule() refuses.
template <class Weights, class Machine>
concept NoOperands = NotPacked<Weights> || IsText<Machine>;
/// What a recipe refuses, which packs weights anew and shares them.
template <class Weights, class Machine>
concept NoOperandsOfRecipe = NoOperands<Weights, Machine> || std::same_as<Weights, SparseTensor>;

template <class Weights, class Machine>
constexpr void refuse_operands() {
  static_assert(
      !NotPacked<Weights>,
      "weft: the weights of a schedule are not packed; accepted: pack(weights, formats::csr()), or in "
      "another format, in their place");
  static_assert(NotPacked<Weights> || !IsText<Machine>,
                "weft: the target of a schedule is a text; accepted: target_named(\"cpu\") in its place");
}

template <class Weights, class Machine>
constexpr void refuse_operands_of_recipe() {
  constexpr bool shared = !NotPacked<Weights> && !std::same_as<Weights, SparseTensor>;
  static_assert(shared,
                "weft: the weights of a recipe are not packed and shared; accepted: std::make_shared<const "
                "SparseTensor>(pack(weights, formats::csr())), or in another format, in their place");
  static_assert(!shared || !IsText<Machine>,
                "weft: the target of a recipe is a text; accepted: target_named(\"cpu\") in its place");
}

/// Names that knobs of some recipe may have, in the order in which they are usually given.
struct NamesOfKnobs {
  Anything form = {}, tile = {}, tile_m = {}, tile_n = {}, tile_k = {}, block_m = {}, block_n = {},
           block_k = {}, m = {}, n = {}, k = {}, panel = {}, rows = {}, threads = {}, num_threads = {},
           columns = {}, cols = {}, lines = {}, stages = {}, num_stages = {}, depth = {}, instruction = {},
           warp_m = {}, warp_n = {}, warps = {}, num_warps = {}, groups = {}, split_k = {}, line = {},
           producers = {}, producer_registers = {}, consumer_registers = {}, blocks = {}, cluster = {},
           lanes = {}, places = {}, parts = {}, panel_rows = {}, image = {}, copy = {}, order = {},
           chunk = {}, unroll = {}, vectorize = {};
};

}  // namespace weft::detail

/// A call of a recipe with a knob of a name that it does not have.
#define WEFT_KNOB_REFUSED(recipe, written)                                                               \
  template <class Never = void>                                                                          \
  Schedule recipe(const Algorithm& algorithm, const std::shared_ptr<const SparseTensor>&, const Target&, \
                  const detail::NamesOfKnobs&, CallPlace = {}) {                                         \
    static_assert(detail::never<Never>, "weft: " #recipe                                                 \
                                        " is not given knobs that it has; found: one of another name, "  \
                                        "without its name, or of another type; accepted: " written);     \
    return Schedule(algorithm, nullptr, Target());                                                       \
  }

/// A call of a recipe with weights or a target that are none. Behind its name stand the parameters that
/// follow these two.
#define WEFT_RECIPE_REFUSED(recipe, ...)                                                     \
  template <class Weights, class Machine>                                                    \
    requires detail::NoOperandsOfRecipe<Weights, Machine>                                    \
  Schedule recipe(const Algorithm& algorithm, const Weights&, const Machine&, __VA_ARGS__) { \
    detail::refuse_operands_of_recipe<Weights, Machine>();                                   \
    return Schedule(algorithm, nullptr, Target());                                           \
  }                                                                                          \
  WEFT_CALL_REFUSED(Schedule, recipe,                                                        \
                    #recipe                                                                  \
                    "(algorithm, weights, target_named(\"cpu\")), of a shared pointer to packed weights")
