// Writes the packages that the tests of this folder build: `export_packages <folder>`. Each stands there
// twice, with machine code where there is an assembler, and below ptx/ without, for the simulated driver.
#include <weft/backends/export/export.h>
#include <weft/backends/export/network_package.h>
#include <weft/scheduler/program/overlapped.h>
#include <weft/scheduler/recipes/cpu/cpu_code.h>
#include <weft/search/measure/structured_weights.h>
#include <weft/search/spaces/problems.h>
#include <weft/weft.h>

#include <array>
#include <iostream>
#include <stdexcept>

using namespace weft;

namespace {

std::string folder;

/// A schedule and the sizes that its kernel is for.
struct Part {
  Schedule schedule;
  std::int64_t least = 1;
  std::int64_t most = 1;
};

void write(const std::string& name, const std::vector<Part>& parts, const std::string& measured = {}) {
  for (const bool assemble : {true, false}) {
    std::vector<PackageKernel> kernels;
    for (const Part& part : parts)
      kernels.push_back({compile(part.schedule, {.assemble = assemble}), part.least, part.most});
    ExportOptions options;
    options.name = name;
    options.measured = measured;
    std::string path = folder;
    path.append(assemble ? "/" : "/ptx/").append(name);
    std::cout << path << ": " << export_package(path, kernels, options).size() << " files\n";
  }
}

void write(const std::string& name, const std::vector<Schedule>& schedules, std::int64_t most,
           const std::string& measured = {}) {
  std::vector<Part> parts;
  for (const Schedule& schedule : schedules) parts.push_back({schedule, 1, most});
  write(name, parts, measured);
}

std::shared_ptr<const SparseTensor> layer(std::int64_t rows, std::int64_t columns, DType dtype,
                                          const Format& format) {
  return std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = rows, .columns = columns, .sparsity = 0.8, .dtype = dtype, .seed = 9}),
           format));
}

/// Rows of entries, which other rows may replace; a kernel of its own for sizes that are multiples of 8.
void plain() {
  Epilogue epilogue;
  epilogue.alpha = epilogue.beta = epilogue.bias = true;
  epilogue.activation = Activation::relu;
  const auto weights = layer(40, 64, DType::f32, formats::csr());
  std::vector<Schedule> schedules;
  for (const char* target : {"sm_80", "sm_90"}) {
    for (const std::int64_t multiple : {8, 1})
      schedules.push_back(
          default_schedule(spmm_algorithm(40, 64, Extent::any("N", multiple), DType::f32, epilogue), weights,
                           target_named(target)));
  }
  write("plain", schedules, 512, R"({"device": "none", "us": {"256": 1.5}})");
}

void baked() {
  const auto weights = layer(48, 64, DType::f32, formats::csr());
  std::vector<Schedule> schedules;
  for (const char* target : {"sm_80", "sm_90"})
    schedules.push_back(
        sparsert(spmm_algorithm(48, 64, Extent::any("N"), DType::f32), weights, target_named(target)));
  write("baked", schedules, 512);
}

void grouped() {
  const auto weights = layer(128, 128, DType::f16, formats::shfl_bw({.rows = 64}));
  std::vector<Schedule> schedules;
  for (const char* target : {"sm_80", "sm_90a"}) {
    for (const std::int64_t multiple : {8, 1})
      schedules.push_back(shfl_bw(spmm_algorithm(128, 128, Extent::any("N", multiple), DType::f16), weights,
                                  target_named(target)));
  }
  write("grouped", schedules, 4096);
}

/// Blocks that are as wide as each asks for, and several that are stored together.
void blocks_in_ell() {
  const auto weights = layer(72, 104, DType::f16, parse_format("hb_ell:every=4,offset=4"));
  std::vector<Schedule> schedules;
  for (const char* target : {"sm_80", "sm_90a"}) {
    for (const std::int64_t multiple : {8, 1})
      schedules.push_back(hb_ell(spmm_algorithm(72, 104, Extent::any("N", multiple), DType::f16), weights,
                                 target_named(target)));
  }
  write("blocks", schedules, 4096);
}

/// Rows in slices, in which a level takes its child from one before it.
void slices() {
  const auto weights = layer(41, 64, DType::f32, formats::csr());
  std::vector<Schedule> schedules;
  for (const char* target : {"sm_80", "sm_90"})
    schedules.push_back(sparsert(spmm_algorithm(41, 64, Extent::any("N"), DType::f32), weights,
                                 target_named(target), {.form = SparseRtForm::streaming}));
  write("slices", schedules, 512);
}

/// Operands as frameworks have them, which launches of their own transpose, and scales.
void tokens() {
  const auto weights = layer(70, 96, DType::f32, formats::csr());
  std::vector<Schedule> schedules;
  for (const char* target : {"sm_80", "sm_90"})
    schedules.push_back(
        sparsert(spmm_algorithm(70, 96, Extent::any("N"), DType::f32,
                                {.row_scale = true, .column_scale = true, .bias = true}, ProductLayout::nk),
                 weights, target_named(target)));
  write("tokens", schedules, 512);
}

/// Launches that overlap on one of two targets: of a kernel whose blocks meet, and of those around it that
/// copy operands.
void early() {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  std::vector<Schedule> schedules;
  for (const char* target : {"sm_80", "sm_90"}) {
    Schedule s = schedule(spmm_algorithm(9, 37, 33, DType::f32), layer(9, 37, DType::f32, formats::csr()),
                          target_named(target));
    s.split(m = 4, n = 32)
        .reorder(m.outer, n.outer, n.inner, m.inner)
        .bind(m.outer, block_y)
        .bind(n.outer, block_x)
        .bind(n.inner, lane)
        .split_k(k, groups = 3, reduce = second_pass)
        .bind("k.group", block_z)
        .align("B")
        .align("C");
    schedules.push_back(overlapped(std::move(s)));
  }
  write("early", schedules, 1);
}

/// One matrix in two formats: each kernel reads its own arrays, and the reference those of the first.
void formats_of_one() {
  std::vector<Part> parts;
  for (const char* target : {"sm_80", "sm_90"}) {
    // Rows that begin anywhere are aligned by launches of their own.
    const auto schedule = [&](const Format& format) {
      Schedule s = default_schedule(spmm_algorithm(40, 64, Extent::any("N"), DType::f32),
                                    layer(40, 64, DType::f32, format), target_named(target));
      return std::move(s.align("B").align("C"));
    };
    parts.push_back({schedule(formats::csr()), 1, 40});
    parts.push_back({schedule(formats::ell()), 41, 512});
  }
  write("formats", parts);
}

/// Filters of 3 x 3 that see as many pixels around the image as they need.
struct Filters {
  Algorithm algorithm;
  std::shared_ptr<const SparseTensor> weights;
};

Filters filters_of(std::int64_t channels, std::int64_t filters, std::array<std::int64_t, 2> pixels,
                   double sparsity) {
  const Convolution convolution{
      .channels = channels, .filters = filters, .image = pixels, .filter = {3, 3}, .pad = {1, 1}};
  WeightMatrix filter =
      synthetic_layer({.rows = filters, .columns = 9 * channels, .sparsity = sparsity, .seed = 5});
  filter.shape = {filters, channels, 3, 3};
  return {convolution_algorithm(convolution, DType::f32),
          std::make_shared<const SparseTensor>(pack(filter, formats::csr()))};
}

void image() {
  const auto [algorithm, weights] = filters_of(4, 6, {9, 11}, 0.7);
  std::vector<Schedule> schedules;
  for (const char* target : {"sm_80", "sm_90"})
    schedules.push_back(sparsert(algorithm, weights, target_named(target)));
  write("image", schedules, 1);
}

/// Blocks meet in a workspace.
void split() {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  Schedule s = schedule(spmm_algorithm(9, 37, 33, DType::f32), layer(9, 37, DType::f32, formats::csr()),
                        target_named("sm_80"));
  s.split(m = 4, n = 32)
      .reorder(m.outer, n.outer, n.inner, m.inner)
      .bind(m.outer, block_y)
      .bind(n.outer, block_x)
      .bind(n.inner, lane)
      .split_k(k, groups = 3, reduce = second_pass)
      .bind("k.group", block_z);
  write("split", {s}, 1);
}

Schedule layer_of_rows(const Target& target) {
  Epilogue epilogue;
  epilogue.alpha = epilogue.beta = epilogue.bias = true;
  epilogue.activation = Activation::gelu;
  const auto weights = layer(40, 64, DType::f32, formats::csr());
  const Algorithm algorithm = spmm_algorithm(40, 64, Extent::any("N"), DType::f32, epilogue);
  return target.is_gpu() ? default_schedule(algorithm, weights, target)
                         : cpu_rows(algorithm, weights, target);
}

/// Rows of entries for processors and a GPU.
void rows() {
  std::vector<Schedule> schedules;
  for (const char* target : {"x86-64-v3", "x86-64-v4", "sm_80"})
    schedules.push_back(layer_of_rows(target_named(target)));
  write("rows", schedules, 512);
}

/// Weights in the code of processors, threads of which have copies of columns each; a kernel of its own for
/// few of these.
void coded() {
  const auto weights = layer(90, 512, DType::f32, formats::csr());
  std::vector<Part> parts;
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    const Target& target = target_named(name);
    const Algorithm algorithm = spmm_algorithm(90, 512, Extent::any("N"), DType::f32);
    parts.push_back({cpu_rows(algorithm, weights, target), 1, 15});
    parts.push_back(
        {cpu_code(algorithm, weights, target, {.columns = 32, .threads = CpuThreads::panels}), 16, 4096});
  }
  write("coded", parts);
}

/// A convolution whose image is copied with zeros around it.
void picture() {
  const auto [algorithm, weights] = filters_of(16, 24, {28, 28}, 0.8);
  std::vector<Schedule> schedules;
  for (const char* target : {"x86-64-v3", "x86-64-v4"})
    schedules.push_back(cpu_rows(algorithm, weights, target_named(target)));
  write("picture", schedules, 1);
}

/// Four layers of 2:4 weights of one shape, whose code is the same, and one of another shape. What they are
/// stands beside them as it was before it was packed.
void network() {
  for (const bool again : {false, true}) {
    ExportOptions options;
    options.name = "net";
    NetworkPackage package(folder + "/net", options);
    for (int i = 0; i < 5; ++i) {
      const std::string name = "fc" + std::to_string(i);
      if (package.is_written(name, PackageDevice::processor, name) != again)
        throw std::runtime_error(name + (again ? " is not found again" : " is there before it is written"));
      if (again) {
        package.keep(name, PackageDevice::processor);
        continue;
      }
      const std::int64_t rows = i < 4 ? 48 : 32;
      const WeightMatrix weights = pair_weights({.rows = rows,
                                                 .columns = 64,
                                                 .pattern = {0, 4},
                                                 .dtype = DType::f32,
                                                 .seed = static_cast<std::uint64_t>(i + 1)});
      const auto packed = std::make_shared<const SparseTensor>(pack(weights, Format{"n_m", {}}));
      const Kernel kernel = compile(default_schedule(spmm_algorithm(rows, 64, Extent::any("N"), DType::f32),
                                                     packed, target_named("x86-64-v3")));
      package.add({.name = name, .kernels = {{kernel, 1, 512}}}, name);
      write_npy(folder + "/net_" + name + ".npy", to_dense(weights));
    }
    std::cout << folder << "/net: " << package.finish().size() << " files beside the layers\n";
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "export_packages <folder>\n";
    return 2;
  }
  folder = arguments[1];
  plain();
  baked();
  grouped();
  blocks_in_ell();
  slices();
  tokens();
  early();
  formats_of_one();
  image();
  split();
  rows();
  coded();
  picture();
  network();
  const WeightMatrix weights = synthetic_layer({.rows = 96, .columns = 128, .sparsity = 0.9, .seed = 1});
  write_npy(folder + "/W.npy", to_dense(weights));
}
