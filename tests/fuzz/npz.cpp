#include <fuzz/fuzz.h>
#include <weft/formats/io/npz.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::run(data, size, [](weft::io::Bytes bytes) { weft::io::parse_npz_array(bytes, "fuzz.npz"); });
  return weft::fuzz::run(data, size, [](weft::io::Bytes bytes) {
    weft::fuzz::demand_sound(weft::io::parse_npz_weights(bytes, "fuzz.npz"));
  });
}
