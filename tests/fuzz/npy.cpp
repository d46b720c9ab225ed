#include <fuzz/fuzz.h>
#include <weft/formats/io/npy.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::run(data, size, [](weft::io::Bytes bytes) { weft::io::parse_npy_string(bytes, "fuzz.npy"); });
  weft::fuzz::run(data, size, [](weft::io::Bytes bytes) { weft::io::parse_npy(bytes, "fuzz.npy"); });
  return weft::fuzz::run(data, size, [](weft::io::Bytes bytes) {
    weft::fuzz::demand_sound(
        weft::io::parse_npy_weights(bytes, "fuzz.npy", {.reinterpret_as = weft::DType::bf16}));
  });
}
