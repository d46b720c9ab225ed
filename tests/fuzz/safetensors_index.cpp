#include <fuzz/fuzz.h>
#include <weft/formats/io/read.h>
#include <weft/formats/io/safetensors_index.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::run(data, size, [](weft::io::Bytes bytes) { weft::file_format_of(bytes, "fuzz"); });
  return weft::fuzz::run(
      data, size, [](weft::io::Bytes bytes) { weft::io::parse_safetensors_index(bytes, "fuzz.index.json"); });
}
