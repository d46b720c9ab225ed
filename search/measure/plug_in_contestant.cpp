#include <fmt/format.h>
#include <weft/backends/runtime/memory.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/checker.h>
#include <weft/search/measure/contestant_library.h>
#include <weft/search/measure/plug_in_contestant.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>

namespace weft {
namespace {

using SharedLibraryOfContestant = std::shared_ptr<const ContestantLibrary>;

/// A problem as a library is told it. What it points at is its own.
struct ToldProblem {
  weft_contestant_problem problem{};
  weft_contestant_convolution convolution{};

  ToldProblem(const Device& device, const Workload& workload, int threads);
  ToldProblem(const ToldProblem&) = delete;
  ToldProblem& operator=(const ToldProblem&) = delete;

 private:
  void tell_structure(const Workload& workload);
  void tell_convolution(const SuiteProblem& problem_of_suite);

  std::string element_, result_;
};

void ToldProblem::tell_structure(const Workload& workload) {
  if (workload.groups) problem.group_rows = workload.groups->rows;
  if (workload.pattern) {
    problem.group_rows = workload.pattern->rows;
    problem.group_of = workload.pattern->of;
  }
  problem.block = workload.block;
}

void ToldProblem::tell_convolution(const SuiteProblem& problem_of_suite) {
  const Convolution& from = *problem_of_suite.convolution;
  convolution.images = from.batch;
  convolution.channels = from.channels;
  convolution.filters = from.filters;
  convolution.groups = problem_of_suite.image_groups;
  const auto tell = [](auto& to, const auto& pair) { std::copy_n(std::begin(pair), 2, to); };
  tell(convolution.image, from.image);
  tell(convolution.filter, from.filter);
  tell(convolution.pad, from.pad);
  tell(convolution.stride, from.stride);
  tell(convolution.dilation, from.dilation);
  tell(convolution.output, from.output());
  problem.convolution = &convolution;
}

ToldProblem::ToldProblem(const Device& device, const Workload& workload, int threads)
    : element_(name_of(workload.dtype)), result_(name_of(workload.empty_output().dtype())) {
  problem.device = device.is_cuda() ? device.description().ordinal : WEFT_CONTESTANT_PROCESSOR;
  problem.threads = threads;
  problem.element = element_.c_str();
  problem.result = result_.c_str();
  problem.after_sum = "";
  problem.rows = workload.problem.m;
  problem.inner = workload.problem.k;
  problem.columns = workload.problem.n;
  problem.stored = workload.matrix.stored();
  tell_structure(workload);
  if (workload.problem.convolution) tell_convolution(workload.problem);
}

/// How X or Y lies: [outer, features, places], or with the features last.
struct FeatureOrder {
  std::int64_t outer, features, places;
};

FeatureOrder order_of_x(const SuiteProblem& problem) {
  if (!problem.convolution) return {1, problem.k, problem.n};
  const Convolution& c = *problem.convolution;
  return {c.batch, c.channels, c.image[0] * c.image[1]};
}

FeatureOrder order_of_y(const SuiteProblem& problem) {
  const std::int64_t outer = problem.convolution ? problem.convolution->batch : 1;
  return {outer, problem.m, problem.n / outer};
}

/// X and Y of one library in one piece of memory, where nobody else's lie, between bytes that have to stay.
class GuardedOperands {
 public:
  GuardedOperands(const Device& device, const Workload& workload, const weft_contestant_wishes& wishes)
      : x_(*workload.b),
        empty_y_(workload.empty_output()),
        y_order_(order_of_y(workload.problem)),
        y_features_last_(wishes.y_features_last != 0) {
    if (wishes.x_features_last != 0) {
      const FeatureOrder order = order_of_x(workload.problem);
      x_ = channels_last(x_, order.outer, order.features, order.places);
    }
    y_offset_ = guard + ceil_divide(x_.bytes(), guard) * guard + guard;
    memory_ = DeviceMemory(device, y_offset_ + empty_y_.bytes() + guard);
    memory_.fill(guard_byte);
    memory_.upload(x_.data(), x_.bytes(), guard);
    y_ = DeviceMemory::borrowed(device, memory_.address() + y_offset_, empty_y_.bytes());
  }

  const void* x() const { return reinterpret_cast<const void*>(memory_.address() + guard); }
  void* y() const { return reinterpret_cast<void*>(y_.address()); }
  void poison_y() { y_.poison(); }

  /// Y in the order of the workload. RuntimeError where something else was written.
  Array output() const {
    require_untouched();
    Array y = empty_y_;
    y_.download(y.data(), y.bytes());
    if (!y_features_last_) return y;
    // Turning once more brings the features back to the front of the places.
    return channels_last(y, y_order_.outer, y_order_.places, y_order_.features).reshaped(empty_y_.shape());
  }

 private:
  static constexpr std::size_t guard = 256;  ///< a multiple of what memory is aligned to
  static constexpr std::uint8_t guard_byte = 0xA5;

  void require_untouched() const {
    std::vector<std::byte> before(y_offset_), after(guard);
    memory_.download(before.data(), before.size());
    memory_.download(after.data(), after.size(), memory_.bytes() - guard);
    const auto is_untouched = [](std::span<const std::byte> bytes) {
      return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{guard_byte}; });
    };
    const std::span<const std::byte> all = before;
    if (!std::equal(x_.data(), x_.data() + x_.bytes(), before.begin() + guard))
      throw RuntimeError("it changed X, which it may only read");
    if (!is_untouched(all.first(guard)) || !is_untouched(all.subspan(guard + x_.bytes())) ||
        !is_untouched(after))
      throw RuntimeError("it wrote beside X or Y");
  }

  Array x_;
  Array empty_y_;
  FeatureOrder y_order_;
  bool y_features_last_;
  std::size_t y_offset_ = 0;
  DeviceMemory memory_;
  DeviceMemory y_;
};

/// What a library made ready, with what its launches use.
class PreparedPlugIn {
 public:
  PreparedPlugIn(SharedLibraryOfContestant library, std::shared_ptr<const Operands> operands, int threads)
      : library_(std::move(library)),
        workload_(std::move(operands)),
        told_(workload_->device(), workload_->workload(), threads),
        wishes_(library_->take(told_.problem)),
        operands_(workload_->device(), workload_->workload(), wishes_) {
    prepare();
  }
  ~PreparedPlugIn() { library_->release(handle_); }
  PreparedPlugIn(const PreparedPlugIn&) = delete;
  PreparedPlugIn& operator=(const PreparedPlugIn&) = delete;

  void launch(StreamHandle stream) const { library_->launch(handle_, stream); }
  GuardedOperands& operands() { return operands_; }

 private:
  void prepare() {
    const Workload& workload = workload_->workload();
    const std::int64_t groups = workload.problem.image_groups;
    const WeightMatrix& all = workload.matrix;
    const WeightMatrix weights = groups > 1 ? within_groups(all, groups) : all;
    const std::optional<Array> dense = wishes_.dense != 0 ? std::optional(to_dense(weights)) : std::nullopt;
    weft_contestant_operands given{};
    given.row_begin = weights.row_begin.data();
    given.column = weights.column.data();
    given.values = weights.values.data();
    given.dense = dense ? dense->data() : nullptr;
    given.row_order = workload.groups ? workload.groups->order.data() : nullptr;
    given.x = operands_.x();
    given.y = operands_.y();
    handle_ = library_->prepare(told_.problem, given);
  }

  SharedLibraryOfContestant library_;
  std::shared_ptr<const Operands> workload_;
  ToldProblem told_;
  weft_contestant_wishes wishes_;
  GuardedOperands operands_;
  void* handle_ = nullptr;
};

Run run_of_plug_in(const SharedLibraryOfContestant& library, const std::shared_ptr<const Operands>& operands,
                   int threads) {
  if (operands->device().kind() == DeviceKind::simulator)
    throw UserError("it runs on a processor or a CUDA device, and not on " + operands->device().name());
  const auto prepared = std::make_shared<PreparedPlugIn>(library, operands, threads);
  return {[prepared](StreamHandle stream) { prepared->launch(stream); },
          [prepared] { prepared->operands().poison_y(); },
          [prepared] { return prepared->operands().output(); }};
}

Variant variant_of_plug_in(const SharedLibraryOfContestant& library, const std::string& name, int threads) {
  return {name, {}, [library, threads](const std::shared_ptr<const Operands>& operands) {
            return run_of_plug_in(library, operands, threads);
          }};
}

Contestant contestant_of_library(const SharedLibraryOfContestant& library, const Device& device,
                                 DType dtype) {
  Contestant contestant{"contestant " + library->name(), ContestantKind::plug_in};
  // Types without a product of the vendor's have results of f16.
  contestant.arithmetic = dense_type_of(dtype).value_or(DenseType::f16);
  if (library->rounds_to_tf32() && dtype == DType::f32) {
    contestant.arithmetic = DenseType::tf32;
    contestant.name += " tf32";
  }
  if (device.is_cuda()) {
    contestant.variants.push_back(variant_of_plug_in(library, "launch", 0));
    return contestant;
  }
  for (const int threads : thread_counts_to_time())
    contestant.variants.push_back(variant_of_plug_in(
        library, threads == 1 ? "one thread" : fmt::format("{} threads", threads), threads));
  return contestant;
}

}  // namespace

std::vector<PlugIn> plug_ins(const std::vector<std::string>& folders, const Device& device, DType dtype) {
  std::vector<PlugIn> all;
  std::map<std::string, std::string> folder_of_name;
  for (const std::string& folder : folders) {
    const SharedLibraryOfContestant library = ContestantLibrary::open(folder);
    const auto [other, is_new] = folder_of_name.emplace(library->name(), folder);
    if (!is_new)
      throw UserError("two contestants have one name", "--contestant " + folder,
                      fmt::format("{}, as the one of {}", library->name(), other->second),
                      "another name, by which the table tells them apart");
    all.push_back({contestant_of_library(library, device, dtype), library->version()});
  }
  return all;
}

}  // namespace weft
