#include <fuzz/fuzz.h>
#include <weft/formats/io/onnx.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::run(data, size, [](weft::io::Bytes bytes) { weft::io::list_onnx(bytes, "fuzz.onnx"); });
  return weft::fuzz::run(data, size, [](weft::io::Bytes bytes) {
    weft::fuzz::demand_sound(weft::io::parse_onnx_weights(bytes, "fuzz.onnx", {}));
  });
}
