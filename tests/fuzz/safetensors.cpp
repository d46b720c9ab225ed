#include <fuzz/fuzz.h>
#include <weft/formats/io/safetensors.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::run(data, size, [](weft::io::Bytes bytes) {
    const auto tensors = weft::io::parse_safetensors_header(bytes, "fuzz.safetensors");
    weft::io::list_among(tensors, "fuzz.safetensors");
    for (const auto& tensor : tensors) {
      if (tensor.origin.empty()) continue;
      try {
        const weft::ReadOptions options{.tensor = tensor.name};
        weft::io::array_among(tensors, "fuzz.safetensors", options);
        weft::fuzz::demand_sound(weft::io::weights_among(tensors, "fuzz.safetensors", options));
      } catch (const weft::UserError&) {
        continue;
      }
    }
    weft::fuzz::demand_sound(weft::io::weights_among(tensors, "fuzz.safetensors", {}));
  });
}
