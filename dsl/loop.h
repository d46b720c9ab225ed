// Loops by name, as a schedule speaks of them: m, n.outer, n.inner.outer; and a loop with a factor: m = 64.
#pragma once

#include <weft/dsl/knob.h>
#include <weft/dsl/refused_call.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>

namespace weft {

struct LoopFactor;

namespace detail {

/// What is no factor of a loop: neither an integer nor a knob.
template <class T>
concept NoFactor = !std::integral<T> && !std::convertible_to<const T&, KnobChoice>;
template <class Found>
constexpr void refuse_factor() {
  static_assert(never<Found>,
                "weft: a loop is given a factor that is neither an integer nor a knob; found: the type "
                "beside Found; accepted: m = 64, or "
                "m = knob(\"tile_m\", {32, 64}) for numbers to choose from");
}

}  // namespace detail

/// The name of a loop. A loop over an index has the index's name; its pieces add ".outer" and ".inner".
class LoopName {
 public:
  LoopName() = default;
  LoopName(std::string text) : text_(std::move(text)) {}
  LoopName(const char* text) : text_(text) {}

  const std::string& text() const { return text_; }
  bool operator==(const LoopName&) const = default;

  /// `LoopName("m") = 64`
  template <std::integral Integer>
  LoopFactor operator=(Integer factor) const;
  LoopFactor operator=(KnobChoice choice) const;

 private:
  std::string text_;
};

/// A loop and the number that a step takes for it: `m = 64`, `m = knob("tile_m", {32, 64})`.
struct LoopFactor {
  LoopName loop;
  std::variant<std::int64_t, KnobChoice> factor;

  bool operator==(const LoopFactor&) const = default;
};

template <std::integral Integer>
LoopFactor LoopName::operator=(Integer factor) const {
  return {*this, static_cast<std::int64_t>(factor)};
}
inline LoopFactor LoopName::operator=(KnobChoice choice) const {
  return {*this, std::move(choice)};
}

/// What is given a factor: `m = 64`, `m.outer = knob("tile_m", {32, 64})`. `Loop`, which derives from it,
/// becomes a LoopName.
template <class Loop>
struct TakesFactor {
  template <std::integral Integer>
  LoopFactor operator=(Integer factor) const {
    return {static_cast<const Loop&>(*this), static_cast<std::int64_t>(factor)};
  }
  LoopFactor operator=(KnobChoice choice) const {
    return {static_cast<const Loop&>(*this), std::move(choice)};
  }
  template <detail::NoFactor Other>
  LoopFactor operator=(const Other&) const {
    detail::refuse_factor<Other>();
    return {};
  }
  template <class Number>
  LoopFactor operator=(std::initializer_list<Number>) const {
    detail::refuse_factor<std::initializer_list<Number>>();
    return {};
  }
};

/// A piece of the loop over an index. `path` is 1 for the loop itself; each ".outer" doubles it, each
/// ".inner" doubles it and adds 1.
struct LoopPiece : TakesFactor<LoopPiece> {
  const char* index;
  unsigned path;

  constexpr LoopPiece(const char* name, unsigned piece) : index(name), path(piece) {}
  operator LoopName() const;
  using TakesFactor::operator=;
};

/// A piece that can itself be named in pieces, `depth` times. Deeper pieces are written
/// LoopName("n.inner.…").
template <int depth>
struct LoopPart : LoopPiece {
  LoopPart<depth - 1> outer, inner;

  constexpr LoopPart(const char* name, unsigned piece)
      : LoopPiece(name, piece), outer(name, 2 * piece), inner(name, 2 * piece + 1) {}
  using LoopPiece::operator=;
};
template <>
struct LoopPart<0> : LoopPiece {
  using LoopPiece::LoopPiece;
  using LoopPiece::operator=;
};

}  // namespace weft
