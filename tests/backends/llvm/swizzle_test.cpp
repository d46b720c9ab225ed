// Buffers whose chunks of 16 bytes are mixed: the same elements, elsewhere.
#include <gtest/gtest.h>
#include <weft/backends/cuda/print_source.h>
#include <weft/backends/llvm/nvptx.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/backends/simulator/device.h>
#include <weft/formats/value_place.h>
#include <weft/scheduler/ir/simplify.h>

#include "backends/llvm/programs.h"

namespace weft::testing {
namespace {

constexpr std::int64_t rows = 16;
constexpr std::int64_t columns = 64;

ir::BufferRef swizzled(const ir::BufferRef& buffer, int swizzle) {
  auto result = std::make_shared<ir::Buffer>(*buffer);
  result->swizzle = swizzle;
  return result;
}

/// to[r, w * width + i] = from[r, w * width + i], i the lanes of a vector.
ir::Stmt copied(const ir::BufferRef& from, const ir::BufferRef& to, std::int64_t width) {
  const std::vector<ir::Expr> place{v("r"), v("w") * width + v("i")};
  const ir::Stmt lanes = vectorized("i", width, ir::store(to, place, ir::load(from, place)));
  return serial("r", rows, serial("w", columns / width, lanes));
}

/// Row-major numbers, and where they lie in a buffer with that swizzle.
Array moved(const Array& numbers, int swizzle) {
  Array result(numbers.dtype(), numbers.shape());
  for (std::int64_t i = 0; i < numbers.size(); ++i)
    result.copy_element(swizzled_place(i, size_of(numbers.dtype()), swizzle), numbers, i);
  return result;
}

void expect_same(const Array& found, const Array& expected) {
  for (std::int64_t i = 0; i < expected.size(); ++i) ASSERT_EQ(found.get(i), expected.get(i)) << i;
}

TEST(Swizzle, IsTheSameInProgramsAndFormats) {
  for (const DType dtype : {DType::i8, DType::f16, DType::f32, DType::f64}) {
    for (const int swizzle : {0, 1, 2, 3}) {
      const auto buffer = swizzled(input("a", dtype, {rows, columns}), swizzle);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
          const ir::Expr offset = ir::offset_of(*buffer, {r, c});
          const ir::Expr swizzled = ir::swizzled(*buffer, offset);
          const std::int64_t* place = ir::integer_value(swizzled);
          ASSERT_NE(place, nullptr);
          ASSERT_EQ(*place, swizzled_place(r * columns + c, size_of(dtype), swizzle));
        }
      }
    }
  }
}

TEST(Swizzle, KeepsItsRange) {
  const ir::Expr mixed = ir::exclusive_or(v("x"), v("y"));
  const ir::Range range = ir::range_of(mixed, {{"x", {0, 100}}, {"y", {0, 7}}});
  EXPECT_EQ(range.minimum, 0);
  EXPECT_EQ(range.maximum, 127);
  EXPECT_FALSE(ir::range_of(mixed, {{"x", {-1, 100}}, {"y", {0, 7}}}).minimum.has_value());
  EXPECT_TRUE(ir::same(ir::exclusive_or(v("x"), 0), v("x")));
  EXPECT_TRUE(ir::same(ir::exclusive_or(0, v("x")), v("x")));
}

TEST(Swizzle, IsReadAndWrittenOnTheCpu) {
  for (const DType dtype : {DType::f16, DType::f32, DType::i8}) {
    const Array a = is_float(dtype) ? numbers(dtype, {rows, columns}) : indices(dtype, {rows, columns}, 100);
    for (const int swizzle : {1, 3}) {
      for (const std::int64_t width : {4, 8, 64}) {
        const auto from = input("a", dtype, {rows, columns});
        const auto to = swizzled(output("c", dtype, {rows, columns}), swizzle);
        auto arrays =
            run(program("write", {from, to}, copied(from, to, width)), {a, Array(dtype, {rows, columns})});
        expect_same(arrays[1], moved(a, swizzle));
        const auto mixed = swizzled(input("c", dtype, {rows, columns}), swizzle);
        const auto plain = output("d", dtype, {rows, columns});
        arrays = run(program("read", {mixed, plain}, copied(mixed, plain, width)),
                     {arrays[1], Array(dtype, {rows, columns})});
        expect_same(arrays[1], a);
      }
    }
  }
}

/// One warp: a swizzled buffer through a swizzled one in shared memory into a plain one, 16 bytes at a time.
ThreadProgram through_shared_memory(int swizzle) {
  const auto from = swizzled(input("a", DType::f16, {rows, columns}), swizzle);
  const auto shared = swizzled(local("tile", DType::f16, {rows, columns}, ir::Scope::shared), swizzle);
  const auto to = output("c", DType::f16, {rows, columns});
  const auto chunk = [&](const ir::BufferRef& source, const ir::BufferRef& destination) {
    const ir::Expr number = v("j") * 32 + v("t");
    const std::vector<ir::Expr> place{number / 8, number % 8 * 8 + v("i")};
    return serial("j", rows * columns / 8 / 32,
                  vectorized("i", 8, ir::store(destination, place, ir::load(source, place))));
  };
  ThreadProgram p = program(
      "through", {from, to},
      ir::let("t", ir::call("thread", DType::i64, {}),
              ir::allocate(shared, ir::block({chunk(from, shared), ir::barrier(), chunk(shared, to)}))));
  p.launch.threads = 32;
  p.launch.shared_bytes = rows * columns * 2;
  return p;
}

TEST(Swizzle, KeepsVectorsOf16BytesOnAGpu) {
  Target target;
  target.name = "sm_80";
  target.kind = TargetKind::cuda;
  target.sm = 80;
  target.ptx_version = "7.1";
  const Array a = numbers(DType::f16, {rows, columns});
  for (const int swizzle : {1, 2, 3}) {
    const ThreadProgram p = through_shared_memory(swizzle);
    const std::string ptx = llvm_backend::emit_ptx(p, target);
    for (const char* access : {"ld.global.nc.v4", "st.shared.v4", "ld.shared.v4", "st.global.v4"})
      EXPECT_NE(ptx.find(access), std::string::npos) << access << "\n" << ptx;
    const Device device = Device::simulator("sm_80");
    const Function function = Module::load(device, ptx).function("through");
    DeviceMemory from(device, a.bytes()), to(device, a.bytes());
    const Array image = moved(a, swizzle);
    from.upload(image.data(), image.bytes());
    std::uint64_t addresses[] = {from.address(), to.address()};
    void* arguments[] = {&addresses[0], &addresses[1]};
    LaunchShape shape;
    shape.block = {32, 1, 1};
    function.launch(shape, arguments, nullptr);
    Array found(DType::f16, {rows, columns});
    to.download(found.data(), found.bytes());
    expect_same(found, a);
    const std::string source = print_cuda_source(p, target);
    EXPECT_NE(source.find("load_vector<8>(&a["), std::string::npos) << source;
    EXPECT_NE(source.find(" ^ "), std::string::npos) << source;
  }
}

}  // namespace
}  // namespace weft::testing
