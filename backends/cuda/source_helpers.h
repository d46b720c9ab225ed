// The headers and device functions that a printed kernel needs. For files of this folder.
#pragma once

#include <weft/dsl/dtype.h>

#include <set>
#include <string>
#include <vector>

namespace weft::cuda {

class Helpers {
 public:
  enum class Kind : std::uint8_t {
    fp16,    ///< <cuda_fp16.h>
    bf16,    ///< <cuda_bf16.h>
    fp8,     ///< <cuda_fp8.h>
    vector,  ///< Vector<T, count>
    load_vector,
    store_vector,
    stream_vector,
    copy_async,    ///< cp.async
    copy_group,    ///< ends and waits of its groups
    floor_divide,  ///< integers, rounded towards minus infinity
    floor_remainder,
    minimum_f32,  ///< floating types: NaN if either operand is
    minimum_f64,
    maximum_f32,
    maximum_f64,
    whole_within,          ///< a floating number as the nearest integer between two
    last_arrival,          ///< the last of the blocks that arrive
    last_arrival_of_some,  ///< the same for the first threads of each
  };

  explicit Helpers(int index_bits) : index_bits_(index_bits) {}

  void need(Kind kind) { needed_.insert(kind); }
  /// The header that declares `dtype`, if it has one.
  void need_type(DType dtype);
  /// Functions made from the instruction table. Those that a function calls are added before it.
  bool has_function(const std::string& name) const { return known_functions_.count(name) != 0; }
  void add_function(const std::string& name, std::string text);

  /// What stands between the comment at the top and the kernel, with a blank line after each part.
  std::string text() const;

 private:
  int index_bits_;
  std::set<Kind> needed_;
  std::set<std::string> known_functions_;
  std::vector<std::string> functions_;
};

}  // namespace weft::cuda
