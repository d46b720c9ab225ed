// Members of an archive whose checksums are right, so that what is inside is reached. The input is a list of
// members: one byte for the name, one for the element type, two bytes for the shape, one byte for the length
// of the data, then that many bytes.
#include <formats/io/make_files.h>
#include <fuzz/fuzz.h>
#include <weft/formats/io/npz.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace {

constexpr std::array names{"format", "shape", "data", "indices", "indptr", "row", "col", "coords", "offsets"};
constexpr std::array layouts{"csr", "csc", "bsr", "coo", "dia"};
constexpr std::array types{"<f4", "<i8", "<i4", "<f8", "|i1", "<f2", ">i4", "|b1", "<u8"};

std::string shape_text(unsigned first, unsigned second) {
  if (second == 0) return "(" + std::to_string(first) + ",)";
  const std::string rest = second > 127 ? ", " + std::to_string(second & 15U) : "";
  return "(" + std::to_string(first) + ", " + std::to_string(second & 127U) + rest + ")";
}

std::vector<weft::testing::ZipMember> members_from(weft::io::Bytes input) {
  std::vector<weft::testing::ZipMember> members;
  while (input.size() >= 5) {
    const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(input[i]); };
    const std::string name = names[byte(0) % names.size()];
    const std::size_t length = std::min<std::size_t>(byte(4), input.size() - 5);
    const std::string data(weft::io::text_of(input.subspan(5, length)));
    const std::string file =
        name == "format"
            ? weft::testing::npy("|S3", "()", layouts[byte(1) % layouts.size()])
            : weft::testing::npy(types[byte(1) % types.size()], shape_text(byte(2), byte(3)), data);
    members.push_back({name + ".npy", file});
    input = input.subspan(5 + length);
  }
  return members;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::run(data, size, [](weft::io::Bytes input) {
    const std::string archive = weft::testing::zip(members_from(input));
    weft::fuzz::demand_sound(weft::io::parse_npz_weights(weft::testing::bytes_of(archive), "fuzz.npz"));
  });
}
