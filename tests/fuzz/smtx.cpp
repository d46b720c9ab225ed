#include <fuzz/fuzz.h>
#include <weft/formats/io/smtx.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::run(data, size, [](weft::io::Bytes bytes) {
    weft::io::looks_like_smtx(bytes);
    weft::fuzz::demand_sound(weft::io::parse_smtx(bytes, "fuzz.smtx"));
  });
}
