#include <fmt/format.h>
#include <weft/backends/cuda/source_helpers.h>

#include <utility>

namespace weft::cuda {
namespace {

constexpr std::string_view vector_type =
    R"(// Neighbouring elements, moved together: their address is a multiple of their size, up to 16 bytes.
template <class T, int count>
struct alignas(sizeof(T) * count < 16 ? sizeof(T) * count : 16) Vector {
  T elements[count];
  __device__ __forceinline__ T& operator[](int i) { return elements[i]; }
  __device__ __forceinline__ const T& operator[](int i) const { return elements[i]; }
};

)";

constexpr std::string_view load_function = R"(template <int count, class T>
__device__ __forceinline__ Vector<T, count> load_vector(const T* from) {
  return *reinterpret_cast<const Vector<T, count>*>(from);
}

)";

constexpr std::string_view store_function = R"(template <int count, class T>
__device__ __forceinline__ void store_vector(T* to, const Vector<T, count>& elements) {
  *reinterpret_cast<Vector<T, count>*>(to) = elements;
}

)";

constexpr std::string_view stream_function =
    R"(// The same for what leaves the caches first.
template <int count, class T>
__device__ __forceinline__ void stream_vector(T* to, const Vector<T, count>& elements) {
  if (sizeof(T) * count == 16) {
    __stcs(reinterpret_cast<int4*>(to), *reinterpret_cast<const int4*>(&elements));
  } else if (sizeof(T) * count == 8) {
    __stcs(reinterpret_cast<int2*>(to), *reinterpret_cast<const int2*>(&elements));
  } else if (sizeof(T) * count == 4) {
    __stcs(reinterpret_cast<int*>(to), *reinterpret_cast<const int*>(&elements));
  } else {
    *reinterpret_cast<Vector<T, count>*>(to) = elements;
  }
}

)";

constexpr std::string_view copy_function =
    R"(// Starts a copy of an aligned run to shared memory; of zeros where it lies outside.
template <int bytes>
__device__ __forceinline__ void copy_async(void* to, const void* from, bool inside = true) {
  const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int read = inside ? bytes : 0;
  if (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(read)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(place), "l"(from),
                 "n"(bytes), "r"(read)
                 : "memory");
  }
}

)";

constexpr std::string_view group_functions = R"(// The copies started since the last group are a group.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until no more than `pending` groups of this thread are under way.
template <int pending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

)";

/// {0}: the index type.
constexpr std::string_view divide_function = R"(// Rounded towards minus infinity; b is positive.
__device__ __forceinline__ {0} floor_divide({0} a, {0} b) {{
  return a / b - (a % b < 0 ? 1 : 0);
}}

)";

constexpr std::string_view remainder_function =
    R"(// a - b * floor_divide(a, b): never negative; b is positive.
__device__ __forceinline__ {0} floor_remainder({0} a, {0} b) {{
  const {0} rest = a % b;
  return rest < 0 ? rest + b : rest;
}}

)";

constexpr std::string_view arrival_function =
    R"(// True for the last of `count` blocks that come here; it sees what the others wrote before they came.
// `place` is zero before the first comes, and after the last.
__device__ __forceinline__ bool last_arrival(int& place, unsigned count) {
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(reinterpret_cast<unsigned*>(&place), count - 1) == count - 1;
    __threadfence();
  }
  return __syncthreads_or(last) != 0;
}

)";

constexpr std::string_view arrival_of_some_function =
    R"(// True for the last of `count` blocks whose first `threads` threads come here, all of them; it sees what the
// others wrote before they came. `place` is zero before the first comes, and after the last.
__device__ __forceinline__ bool last_arrival_of_some(int& place, unsigned count, int threads) {
  asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
  int last = 0;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(reinterpret_cast<unsigned*>(&place), count - 1) == count - 1;
    __threadfence();
  }
  asm volatile(
      "{ .reg .pred any; setp.ne.s32 any, %0, 0; bar.red.or.pred any, 1, %1, any; selp.b32 %0, 1, 0, any; }"
      : "+r"(last)
      : "r"(threads)
      : "memory");
  return last != 0;
}

)";

constexpr std::string_view whole_function =
    R"(// The nearest integer, ties to even, of those between least and most; zero of NaN.
template <int least, int most>
__device__ __forceinline__ int whole_within(float x) {
  return min(most, max(least, __float2int_rn(x)));
}
template <int least, int most>
__device__ __forceinline__ int whole_within(double x) {
  return isnan(x) ? 0 : min(most, max(least, __double2int_rn(x)));
}

)";

constexpr std::pair<Helpers::Kind, std::string_view> plain_functions[] = {
    {Helpers::Kind::vector, vector_type},          {Helpers::Kind::load_vector, load_function},
    {Helpers::Kind::store_vector, store_function}, {Helpers::Kind::stream_vector, stream_function},
    {Helpers::Kind::copy_async, copy_function},    {Helpers::Kind::copy_group, group_functions},
    {Helpers::Kind::whole_within, whole_function}};

struct Extremum {
  Helpers::Kind kind;
  std::string_view which, type, name;
  std::string_view of_cuda;  ///< which drops a NaN
};
constexpr Extremum extrema[] = {{Helpers::Kind::minimum_f32, "smaller", "float", "minimum", "fminf"},
                                {Helpers::Kind::minimum_f64, "smaller", "double", "minimum", "fmin"},
                                {Helpers::Kind::maximum_f32, "larger", "float", "maximum", "fmaxf"},
                                {Helpers::Kind::maximum_f64, "larger", "double", "maximum", "fmax"}};

/// In the order of Extremum.
constexpr std::string_view extremum_function = R"(// The {0} number; NaN if either is one.
__device__ __forceinline__ {1} {2}({1} a, {1} b) {{
  return isnan(a) || isnan(b) ? a + b : {3}(a, b);
}}

)";

}  // namespace

void Helpers::need_type(DType dtype) {
  if (dtype == DType::f16) need(Kind::fp16);
  if (dtype == DType::bf16) need(Kind::bf16);
  if (is_float_of_a_byte(dtype)) need(Kind::fp8);
}

void Helpers::add_function(const std::string& name, std::string text) {
  if (known_functions_.insert(name).second) functions_.push_back(std::move(text));
}

std::string Helpers::text() const {
  const auto has = [this](Kind kind) { return needed_.count(kind) != 0; };
  const char* index = index_bits_ == 64 ? "long long" : "int";
  std::string result;
  if (has(Kind::bf16)) result += "#include <cuda_bf16.h>\n";
  if (has(Kind::fp16)) result += "#include <cuda_fp16.h>\n";
  if (has(Kind::fp8)) result += "#include <cuda_fp8.h>\n";
  if (!result.empty()) result += "\n";
  for (const auto& [kind, function] : plain_functions) {
    if (has(kind)) result += function;
  }
  if (has(Kind::floor_divide)) result += fmt::format(divide_function, index);
  if (has(Kind::floor_remainder)) result += fmt::format(remainder_function, index);
  for (const Extremum& each : extrema) {
    if (has(each.kind))
      result += fmt::format(extremum_function, each.which, each.type, each.name, each.of_cuda);
  }
  if (has(Kind::last_arrival)) result += arrival_function;
  if (has(Kind::last_arrival_of_some)) result += arrival_of_some_function;
  for (const std::string& function : functions_) result += function + "\n";
  return result;
}

}  // namespace weft::cuda
