#include <weft/backends/runtime/libraries/onednn.h>
#include <weft/backends/runtime/shared_library.h>
#include <weft/dsl/errors.h>

#include <array>
#include <utility>
#include <vector>

namespace weft {
namespace {

using Engine = struct dnnl_engine*;
using OnednnStream = struct dnnl_stream*;
using Layout = struct dnnl_memory_desc*;
using Memory = struct dnnl_memory*;
using Description = struct dnnl_primitive_desc*;
using Primitive = struct dnnl_primitive*;

struct ExecutionArgument {
  int which;
  Memory memory;
};

// Numbers of dnnl_types.h that stand in every version 2 and 3.
constexpr int processor = 1, in_order = 1, single_precision = 3, forward_inference = 96, automatic = 3;
constexpr int any_layout = 1;
constexpr int source_layout = 129, weights_layout = 131, result_layout = 133;
constexpr int source = 1, result = 17, weights = 33;

using Extents = std::array<std::int64_t, 12>;

struct EntryPoints : LibraryFunctions {
  Imported<const int*()> version{*this, "dnnl_version"};
  Imported<void(int threads)> use_threads{*this, "omp_set_num_threads", false};
  Imported<int(Engine* engine, int kind, std::size_t index)> create_engine{*this, "dnnl_engine_create"};
  Imported<int(OnednnStream* stream, Engine engine, unsigned flags)> create_stream{*this,
                                                                                   "dnnl_stream_create"};
  Imported<int(OnednnStream stream)> wait{*this, "dnnl_stream_wait"};
  Imported<int(Memory* memory, const dnnl_memory_desc* layout, Engine engine, void* address)> create_memory{
      *this, "dnnl_memory_create"};
  Imported<int(Memory memory)> destroy_memory{*this, "dnnl_memory_destroy"};
  Imported<int(Description* description, const dnnl_memory_desc* from, Engine of_source,
               const dnnl_memory_desc* to, Engine of_result, const void* attributes)>
      describe_reorder{*this, "dnnl_reorder_primitive_desc_create"};
  Imported<const dnnl_memory_desc*(Description description, int what, int index)> layout_of{
      *this, "dnnl_primitive_desc_query_md"};
  Imported<int(Description description)> destroy_description{*this, "dnnl_primitive_desc_destroy"};
  Imported<int(Primitive* primitive, Description description)> create_primitive{*this,
                                                                                "dnnl_primitive_create"};
  Imported<int(Primitive primitive)> destroy_primitive{*this, "dnnl_primitive_destroy"};
  Imported<int(Primitive primitive, OnednnStream stream, int count, const ExecutionArgument* arguments)>
      execute{*this, "dnnl_primitive_execute"};
};

/// What describes operands and convolutions: the library allocates it.
struct Version3 : LibraryFunctions {
  Imported<int(Layout* layout, int dimensions, const std::int64_t* extents, int type,
               const std::int64_t* strides)>
      create_layout{*this, "dnnl_memory_desc_create_with_strides"};
  Imported<int(Layout* layout, int dimensions, const std::int64_t* extents, int type, int tag)> create_tagged{
      *this, "dnnl_memory_desc_create_with_tag"};
  Imported<int(Layout layout)> destroy_layout{*this, "dnnl_memory_desc_destroy"};
  Imported<int(Description* description, Engine engine, int propagation, int algorithm, Layout source,
               Layout weights, Layout bias, Layout result, const std::int64_t* strides,
               const std::int64_t* dilations, const std::int64_t* before, const std::int64_t* behind,
               const void* attributes)>
      describe_convolution{*this, "dnnl_convolution_forward_primitive_desc_create"};
};

/// The same: the caller allocates it.
struct Version2 : LibraryFunctions {
  Imported<int(Layout layout, int dimensions, const std::int64_t* extents, int type,
               const std::int64_t* strides)>
      fill_layout{*this, "dnnl_memory_desc_init_by_strides"};
  Imported<int(Layout layout, int dimensions, const std::int64_t* extents, int type, int tag)> fill_tagged{
      *this, "dnnl_memory_desc_init_by_tag"};
  Imported<int(void* operation, int propagation, int algorithm, const dnnl_memory_desc* source,
               const dnnl_memory_desc* weights, const dnnl_memory_desc* bias, const dnnl_memory_desc* result,
               const std::int64_t* strides, const std::int64_t* dilations, const std::int64_t* before,
               const std::int64_t* behind)>
      fill_convolution{*this, "dnnl_dilated_convolution_forward_desc_init"};
  Imported<int(Description* description, const void* operation, const void* attributes, Engine engine,
               Description hint)>
      describe{*this, "dnnl_primitive_desc_create"};
};
// Several times what the structures of dnnl_types.h take in any version 2.
constexpr std::size_t bytes_of_layout = 4096, bytes_of_operation = 32768;

void check(int status, const char* doing) {
  if (status != 0) throw RuntimeError(std::string(doing) + " with oneDNN: status " + std::to_string(status));
}

}  // namespace

struct Onednn::State {
  SharedLibrary library;
  EntryPoints api;
  std::optional<Version3> three;
  std::optional<Version2> two;  ///< in its place
  Engine engine = nullptr;
  OnednnStream stream = nullptr;
  std::string version;

  using SharedLayout = std::shared_ptr<dnnl_memory_desc>;
  using SharedMemory = std::shared_ptr<dnnl_memory>;

  SharedLayout layout(const std::vector<std::int64_t>& extents, bool channels_last) const {
    // The two of an image, or of a filter, are last; channels stand before them.
    const std::size_t channels = extents.size() - 3;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (i != channels || !channels_last) order.push_back(i);
    }
    if (channels_last) order.push_back(channels);
    Extents sizes{}, strides{};
    std::int64_t stride = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
      strides.at(order[i]) = stride;
      stride *= extents[order[i]];
    }
    std::copy(extents.begin(), extents.end(), sizes.begin());
    const auto count = static_cast<int>(extents.size());
    return described([&](Layout* made) {
      return two ? two->fill_layout(*made, count, sizes.data(), single_precision, strides.data())
                 : three->create_layout(made, count, sizes.data(), single_precision, strides.data());
    });
  }

  SharedLayout any(const std::vector<std::int64_t>& extents) const {
    Extents sizes{};
    std::copy(extents.begin(), extents.end(), sizes.begin());
    const auto count = static_cast<int>(extents.size());
    return described([&](Layout* made) {
      return two ? two->fill_tagged(*made, count, sizes.data(), single_precision, any_layout)
                 : three->create_tagged(made, count, sizes.data(), single_precision, any_layout);
    });
  }

  template <class Describe>
  SharedLayout described(const Describe& describe) const {
    const auto place = two ? std::make_shared<std::array<std::byte, bytes_of_layout>>() : nullptr;
    Layout made = place == nullptr ? nullptr : reinterpret_cast<Layout>(place->data());
    check(describe(&made), "describing an operand");
    if (place != nullptr) return {place, made};
    return {made, [this](Layout one) { three->destroy_layout(one); }};
  }

  Description describe_convolution(const std::array<Layout, 3>& operands, const Extents& strides,
                                   const Extents& dilations, const Extents& before,
                                   const Extents& behind) const {
    const auto& [image, filters, output] = operands;
    Description made = nullptr;
    if (!two) {
      check(three->describe_convolution(&made, engine, forward_inference, automatic, image, filters, nullptr,
                                        output, strides.data(), dilations.data(), before.data(),
                                        behind.data(), nullptr),
            "describing a convolution");
      return made;
    }
    std::vector<std::byte> operation(bytes_of_operation);
    check(two->fill_convolution(operation.data(), forward_inference, automatic, image, filters, nullptr,
                                output, strides.data(), dilations.data(), before.data(), behind.data()),
          "describing a convolution");
    check(two->describe(&made, operation.data(), nullptr, engine, nullptr), "describing a convolution");
    return made;
  }

  /// At `address`; without one, oneDNN's own.
  SharedMemory memory(const dnnl_memory_desc* of, std::uint64_t address) const {
    void* at = address != 0 ? reinterpret_cast<void*>(address) : reinterpret_cast<void*>(~std::uintptr_t{0});
    Memory made = nullptr;
    check(api.create_memory(&made, of, engine, at), "taking memory");
    return {made, [this](Memory one) { api.destroy_memory(one); }};
  }

  std::shared_ptr<dnnl_primitive> primitive(Description description) const {
    Primitive made = nullptr;
    check(api.create_primitive(&made, description), "compiling");
    return {made, [this](Primitive one) { api.destroy_primitive(one); }};
  }

  void run(Primitive what, const std::vector<ExecutionArgument>& arguments) const {
    check(api.execute(what, stream, static_cast<int>(arguments.size()), arguments.data()), "computing");
    check(api.wait(stream), "waiting");
  }

  void reorder(const dnnl_memory_desc* from, Memory in, const dnnl_memory_desc* to, Memory out) const {
    Description made = nullptr;
    check(api.describe_reorder(&made, from, engine, to, engine, nullptr), "laying an operand out");
    const std::shared_ptr<dnnl_primitive_desc> description(
        made, [this](Description one) { api.destroy_description(one); });
    run(primitive(made).get(), {{source, in}, {result, out}});
  }
};

std::optional<Onednn> Onednn::open(const Device& device, std::string* reason) {
  const auto absent = [&](const std::string& why) {
    if (reason != nullptr) *reason = why;
    return std::nullopt;
  };
  if (device.kind() != DeviceKind::cpu) return absent("oneDNN needs the cpu, not " + device.name());
  auto state = std::make_shared<State>();
  state->library = SharedLibrary::open({"libdnnl.so.3", "libdnnl.so.2"}, processor_library_folders());
  if (!state->library) return absent("no oneDNN 2 or 3: " + state->library.reason());
  const auto lacking = [&](LibraryFunctions& functions) {
    const std::string missing = state->library.resolve(functions);
    return missing.empty() ? missing
                           : "no oneDNN 2 or 3: " + state->library.path().string() + " lacks " + missing;
  };
  if (const std::string why = lacking(state->api); !why.empty()) return absent(why);
  const int* version = state->api.version();
  const bool older = *version == 2;
  if (const std::string why = older ? lacking(state->two.emplace()) : lacking(state->three.emplace());
      !why.empty())
    return absent(why);
  check(state->api.create_engine(&state->engine, processor, 0), "opening the processor");
  check(state->api.create_stream(&state->stream, state->engine, in_order), "opening the processor");
  state->version = "oneDNN " + std::to_string(version[0]) + "." + std::to_string(version[1]) + "." +
                   std::to_string(version[2]) + " (" + state->library.path().filename().string() + ")";
  return Onednn(std::move(state));
}

ProcessorConvolution Onednn::prepare(const DenseConvolution& c, bool own_images) const {
  if (c.type != DenseType::f32) throw UserError("a convolution with oneDNN", "another type than f32", "f32");
  const std::shared_ptr<const State> state = state_;
  const bool last = c.channels_last;
  const std::vector<std::int64_t> image{c.batch, c.channels, c.image[0], c.image[1]};
  const std::vector<std::int64_t> output{c.batch, c.filters, c.output[0], c.output[1]};
  std::vector<std::int64_t> filters{c.filters, c.channels / c.groups, c.filter[0], c.filter[1]};
  if (c.groups > 1) {
    filters.front() = c.filters / c.groups;
    filters.insert(filters.begin(), c.groups);
  }
  const auto given_image = state->layout(image, last), given_output = state->layout(output, last);
  const auto given_filters = state->layout(filters, last), any_filters = state->any(filters);
  const auto wanted_image = own_images ? state->any(image) : given_image;
  const auto wanted_output = own_images ? state->any(output) : given_output;
  Extents strides{c.stride[0], c.stride[1]}, dilations{c.dilation[0] - 1, c.dilation[1] - 1};
  Extents before{c.pad[0], c.pad[1]}, behind{};
  for (std::size_t i = 0; i < 2; ++i)
    behind.at(i) = (c.output.at(i) - 1) * c.stride.at(i) + (c.filter.at(i) - 1) * c.dilation.at(i) + 1 -
                   c.image.at(i) - c.pad.at(i);
  Description const made = state->describe_convolution(
      {wanted_image.get(), any_filters.get(), wanted_output.get()}, strides, dilations, before, behind);
  const std::shared_ptr<dnnl_primitive_desc> description(
      made, [state](Description one) { state->api.destroy_description(one); });
  const auto chosen = [&](int which) { return state->api.layout_of(made, which, 0); };

  const auto packed = state->memory(chosen(weights_layout), 0);
  state->reorder(given_filters.get(), state->memory(given_filters.get(), c.weights_address).get(),
                 chosen(weights_layout), packed.get());
  const auto source_memory = state->memory(chosen(source_layout), own_images ? 0 : c.image_address);
  if (own_images)
    state->reorder(given_image.get(), state->memory(given_image.get(), c.image_address).get(),
                   chosen(source_layout), source_memory.get());
  const auto result_memory = state->memory(chosen(result_layout), own_images ? 0 : c.output_address);
  const auto primitive = state->primitive(made);

  ProcessorConvolution prepared;
  prepared.run = [state, primitive, source_memory, packed, result_memory] {
    state->run(primitive.get(),
               {{source, source_memory.get()}, {weights, packed.get()}, {result, result_memory.get()}});
  };
  prepared.bring_back = [state, own_images, description, given_output, result_memory,
                         address = c.output_address] {
    if (!own_images) return;
    const auto at = state->memory(given_output.get(), address);
    state->reorder(state->api.layout_of(description.get(), result_layout, 0), result_memory.get(),
                   given_output.get(), at.get());
  };
  return prepared;
}

bool Onednn::use_threads(int threads) const {
  if (state_->api.use_threads == nullptr) return false;
  state_->api.use_threads(threads);
  return true;
}

const std::string& Onednn::version() const {
  return state_->version;
}

}  // namespace weft
