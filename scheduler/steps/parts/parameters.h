// Parameters and preconditions that the rows of several steps have.
#pragma once

#include <weft/scheduler/program/step_arguments.h>

#include <array>

namespace weft::steps {

constexpr Parameter loop_parameter(std::string_view name, std::string_view example,
                                   std::string_view sentence) {
  return {.name = name, .kind = ParameterKind::loop, .example = example, .sentence = sentence};
}

constexpr Parameter tensor_parameter(std::string_view example, std::string_view sentence) {
  return {.name = "tensor", .kind = ParameterKind::tensor, .example = example, .sentence = sentence};
}

/// One that has to be given, from 1 on.
constexpr Parameter number_parameter(std::string_view name, std::string_view example,
                                     std::string_view sentence, int precondition, std::int64_t most) {
  return {.name = name,
          .kind = ParameterKind::number,
          .example = example,
          .sentence = sentence,
          .precondition = precondition,
          .named = true,
          .most = most};
}

/// The same where none has to be.
constexpr Parameter optional_number(std::string_view name, std::string_view example,
                                    std::string_view sentence, int precondition, std::int64_t most,
                                    std::int64_t otherwise) {
  Parameter result = number_parameter(name, example, sentence, precondition, most);
  result.required = false;
  result.otherwise = otherwise;
  return result;
}

inline constexpr std::array<std::string_view, 1> shared_alone{"shared"};
inline constexpr std::int64_t most_buffers = 8;

/// What stage, stitch and decode are given: which tensor goes where, at which loop, into how many buffers.
constexpr std::array<Parameter, 4> copy_parameters(std::string_view tensor,
                                                   std::span<const std::string_view> scopes,
                                                   std::string_view at) {
  Parameter place = loop_parameter("at", at, "the loop, at the begin of whose iterations the copy is made");
  place.named = true;
  return {tensor_parameter(tensor, "what is copied: an operand, or an array of the weights"),
          Parameter{.name = "scope",
                    .kind = ParameterKind::word,
                    .example = "shared",
                    .sentence = "where the copy lies",
                    .precondition = 2,
                    .words = scopes},
          place,
          optional_number("depth", "2", "buffers that the iterations take in turn; copies run one less ahead",
                          7, most_buffers, 1)};
}

inline constexpr Precondition loop_exists{1, "the loop exists"}, loops_exist{1, "the loops exist"},
    copy_reached_together{
        5, "no warp, lane or thread loop stands around the copy, so that all threads reach it"},
    depth_possible{7, "the depth is 1 to 8; beyond 1, in shared memory and on the CPU or sm_80 and newer"},
    one_depth{8, "beyond a depth of 1, the loop is serial or unrolled, and its copies have one depth"},
    place_known_ahead{9,
                      "beyond a depth of 1, the place of the copy is known before the iteration, and "
                      "without the conditions inside"};

}  // namespace weft::steps
