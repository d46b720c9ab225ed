// Lesson 8: a kernel leaves weft.
//
// What weft has made can go where weft is not: into a project in C, in C++, in CUDA, or under PyTorch. This
// lesson makes a folder of it. The projects in c/, cuda/ and pytorch/ beside this file use that folder; they
// know nothing of weft.

#include <weft/weft.h>

#include <filesystem>
#include <iostream>

using namespace weft;

int main(int count, char** arguments) {
  const std::string folder = count > 1 ? arguments[1] : "ffn";

  // A pruned layer, C = relu(A B + bias), for any number of columns.
  constexpr std::int64_t outputs = 256, inputs = 512;
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {outputs, inputs});
  const Tensor<f32, 2> B("B", {inputs, Extent::any("N")});
  const Tensor<f32, 1> bias("bias", {outputs});
  const Tensor<f32, 2> C("C", {outputs, Extent::any("N")});
  const Algorithm layer = algorithm("ffn", C(m, n) = relu(sum(k, A(m, k) * B(k, n)) + bias(m)));
  const auto weights = std::make_shared<const SparseTensor>(pack(
      synthetic_layer({.rows = outputs, .columns = inputs, .sparsity = 0.9, .seed = 8}), formats::csr()));

  // One kernel would do: compile(...).export_to(folder, {.name = "ffn"}). A package may hold several, for
  // other architectures and for other sizes. Which one runs is decided by plain ifs over the size, and by the
  // device when the package is opened. Here a machine of sm_80 or sm_90 finds code of its own, newer ones
  // compile the PTX.
  std::vector<PackageKernel> kernels;
  for (const char* target : {"sm_80", "sm_90"})
    kernels.push_back({compile(default_schedule(layer, weights, target_named(target))), 1, 4096});

  ExportOptions options;
  options.name = "ffn";
  options.spdx = "MIT";  // what is written is yours, and so is the choice of its licence
  const std::vector<std::string> files = export_package(folder, kernels, options);

  // What stands there. The machine code is bytes in src/ffn_image.c, so that a C compiler builds the package;
  // the CUDA sources beside it are for reading, and for nvcc with -DFFN_FROM_SOURCE=ON.
  for (const std::string& file : files)
    std::cout << "  " << file << "  " << std::filesystem::file_size(std::filesystem::path(folder) / file)
              << " bytes\n";
  std::cout << "\nTry it:\n  cmake -S " << folder
            << " -B build && cmake --build build && ctest --test-dir build\n";

  // The command does the same to a file:
  //   weft export --op linear --weights W.npy --n 1:4096 --activation relu --archs sm_80,sm_90 --name ffn -o
  //   ffn
  // and inside a CMake project weft_add_kernel(ffn FROM program.cpp TARGETS sm_80 sm_90) makes it a target.
  return files.size() > 20 ? 0 : 1;
}
