#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/export/c_text.h>
#include <weft/backends/export/export.h>
#include <weft/backends/export/object.h>
#include <weft/backends/llvm/cpu_object.h>
#include <weft/backends/runtime/process.h>
#include <weft/scheduler/program/launch_sizes.h>

#include <filesystem>
#include <map>
#include <utility>

namespace weft {
namespace {

using exporting::c_type;
using exporting::field_name;

/// What a call says and what it does with it.
struct Call {
  std::vector<std::string> parameters;  ///< "const float *b"
  std::vector<std::string> names;       ///< "b"
  std::vector<std::string> buffers;     ///< what the code gets: operands and arrays of the weights
  std::vector<std::string> scalars, sizes;
  std::vector<std::string> arrays;  ///< symbols of the weights' arrays
};

void add(Call& call, const std::string& type, const std::string& name) {
  call.parameters.push_back(type + name);
  call.names.push_back(name);
}

Call call_of(const Kernel& kernel, const ObjectOptions& options,
             std::vector<llvm_backend::ObjectArray>& arrays) {
  const Algorithm& algorithm = kernel.schedule().algorithm();
  const ir::Program& program = kernel.lowered().program;
  std::map<std::string, const Array*> of_weights;
  if (const SparseTensor* weights = kernel.schedule().weights()) {
    for (const SparseTensor::NamedArray& array : weights->arrays())
      of_weights[array_buffer_name(algorithm.sparse_operand()->name, array.name)] = &array.array;
  }
  Call call;
  const std::string& output = algorithm.operands[algorithm.output.operand].name;
  for (const ir::BufferRef& buffer : program.buffers) {
    if (const auto array = of_weights.find(buffer->name); array != of_weights.end()) {
      const std::string symbol = fmt::format("{}_{}", options.name, field_name(buffer->name));
      arrays.push_back({symbol, std::as_bytes(std::span(array->second->data(), array->second->bytes()))});
      call.arrays.push_back(symbol);
      call.buffers.push_back("(void *)" + symbol);
      continue;
    }
    const std::string name = field_name(buffer->name);
    add(call, fmt::format("{}{} *", buffer->name == output ? "" : "const ", c_type(buffer->dtype)), name);
    call.buffers.push_back("(void *)" + name);
  }
  for (const ir::Variable& scalar : program.scalars) {
    add(call, "double ", field_name(scalar.name));
    call.scalars.push_back(field_name(scalar.name));
  }
  for (const ir::Variable& size : program.extents) {
    add(call, "int64_t ", field_name(size.name));
    call.sizes.push_back(field_name(size.name));
  }
  return call;
}

constexpr std::string_view header_text = R"(/* @TEXT@
 *
 * Link with @NAME@.o, code for @PROCESSOR@ with the weights in it. Operands lie row-major and without gaps, at multiples of
 * 64 bytes; `scratch` is @NAME@_scratch_bytes at a multiple of 64 bytes, and may be NULL where that is 0. Calls may run
 * at the same time, each with a scratch of its own. */
#ifndef @NAME@_object_h
#define @NAME@_object_h
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Iterations begin .. end of a parallel loop, with @NAME@_thread_bytes of scratch that no other thread uses. */
typedef void @NAME@_body(int64_t begin, int64_t end, void *scratch, void *context);

/* Runs a body over begin .. begin + extent, in pieces by whichever threads it likes, and returns when all is done. */
typedef struct @NAME@_runtime @NAME@_runtime;
struct @NAME@_runtime {
  void (*loop)(@NAME@_runtime *runtime, int64_t begin, int64_t extent, @NAME@_body *body, void *context);
  void *yours; /* threads, and scratch for each of them */
};

enum { @NAME@_code_scratch_bytes = @CODE_BYTES@, @NAME@_thread_bytes = @THREAD_BYTES@ };
enum { @NAME@_scratch_bytes = @NAME@_code_scratch_bytes + @NAME@_thread_bytes };

void @NAME@_code(void *const *buffers, const double *scalars, const int64_t *sizes, void *scratch, void *runtime);
@ARRAYS@
static inline void @NAME@_run_in(@NAME@_runtime *runtime, @PARAMETERS@, void *scratch) {
  void *const buffers[] = {@BUFFERS@};
  const double scalars[] = {@SCALARS@};
  const int64_t sizes[] = {@SIZES@};
  @NAME@_code(buffers, scalars, sizes, scratch, runtime);
}

static inline void @NAME@_on_this_thread(@NAME@_runtime *runtime, int64_t begin, int64_t extent, @NAME@_body *body,
                                         void *context) {
  body(begin, begin + extent, runtime->yours, context);
}

static inline void @NAME@_run(@PARAMETERS@, void *scratch) {
  @NAME@_runtime runtime;
  runtime.loop = @NAME@_on_this_thread;
  runtime.yours = scratch == NULL ? NULL : (unsigned char *)scratch + @NAME@_code_scratch_bytes;
  @NAME@_run_in(&runtime, @NAMES@, scratch);
}

#ifdef __cplusplus
}
#endif
#endif
)";

std::string filled(std::string_view text, const std::map<std::string, std::string>& words) {
  std::string result;
  while (!text.empty()) {
    const std::size_t begin = text.find('@');
    result += text.substr(0, begin);
    if (begin == std::string_view::npos) break;
    const std::size_t end = text.find('@', begin + 1);
    result += words.at(std::string(text.substr(begin + 1, end - begin - 1)));
    text.remove_prefix(end + 1);
  }
  return result;
}

std::string header_of(const Kernel& kernel, const ObjectOptions& options, const Call& call,
                      const llvm_backend::CpuObject& object) {
  std::string arrays;
  for (const std::string& symbol : call.arrays)
    arrays += fmt::format("extern const unsigned char {}[];\n", symbol);
  const auto list = [](const std::vector<std::string>& all) {
    return all.empty() ? std::string("0") : fmt::format("{}", fmt::join(all, ", "));
  };
  const std::string& processor = kernel.schedule().target().processor;
  return filled(header_text,
                {{"NAME", options.name},
                 {"TEXT", kernel.schedule().algorithm().text()},
                 {"PROCESSOR", processor == "native" ? "the processor that it was made on" : processor},
                 {"CODE_BYTES", std::to_string((object.scratch_bytes + 63) / 64 * 64)},
                 {"THREAD_BYTES", std::to_string((object.worker_scratch_bytes + 63) / 64 * 64)},
                 {"ARRAYS", arrays},
                 {"PARAMETERS", list(call.parameters)},
                 {"NAMES", list(call.names)},
                 {"BUFFERS", list(call.buffers)},
                 {"SCALARS", list(call.scalars)},
                 {"SIZES", list(call.sizes)}});
}

void require_object(const Kernel& kernel) {
  const auto refuse = [](const char* found, const char* accepted) {
    throw UserError("a kernel that is no object file", "export_object", found, accepted);
  };
  if (kernel.schedule().target().is_gpu())
    refuse("a kernel for a GPU", "one for a CPU: target_named(\"cpu\"); export_package for GPUs");
  if (kernel.schedule().algorithm().takes_any_weights())
    refuse("weights that a launch gives", "weights that the schedule has; export_package for others");
  if (!kernel.lowered().program.workspaces.empty())
    refuse("a kernel with workspaces", "a schedule without split_k, or export_package");
}

}  // namespace

std::vector<std::string> export_object(const Kernel& kernel, const std::string& folder,
                                       const ObjectOptions& options, CallPlace place) {
  return user_call(place, [&] {
    ExportOptions named;
    named.name = options.name;
    check_export_options(named);
    require_object(kernel);
    std::vector<llvm_backend::ObjectArray> arrays;
    const Call call = call_of(kernel, options, arrays);
    const llvm_backend::CpuObject object =
        llvm_backend::object_for(kernel.lowered(), kernel.schedule().target().processor,
                                 {options.name + "_code", options.name + "_parallel_loop"}, arrays);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) refuse_path("make the folder", folder, error);
    const std::vector<std::string> names{options.name + ".o", options.name + ".h"};
    write_bytes(std::filesystem::path(folder) / names[0], object.bytes);
    write_bytes(std::filesystem::path(folder) / names[1], header_of(kernel, options, call, object));
    return names;
  });
}

}  // namespace weft
