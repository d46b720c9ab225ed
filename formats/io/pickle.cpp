#include <weft/formats/io/pickle.h>

#include <string_view>
#include <utility>

namespace weft::io {

namespace {

constexpr std::string_view a_pickle = "a Python pickle, which only Python can read, by running it";

[[noreturn]] void refuse_with_advice(const std::string& origin, std::string found) {
  refuse(origin, {}, std::move(found),
         ".safetensors; convert once, with a file that you trust:\n"
         "              python3 -c \"import sys, torch; from safetensors.torch import save_file; "
         "s = torch.load(sys.argv[1], map_location='cpu', weights_only=True); s = s.get('state_dict', s); "
         "save_file({k: v.contiguous().clone() for k, v in s.items() if torch.is_tensor(v)}, sys.argv[2])\" "
         "IN.pt OUT.safetensors");
}

}  // namespace

void refuse_pickle(const std::string& origin) {
  refuse_with_advice(origin, std::string(a_pickle));
}

void refuse_named_pickle(Bytes bytes, const std::string& origin) {
  if (looks_like_pickle(bytes)) refuse_pickle(origin);
  refuse_with_advice(origin, beginning_of(bytes) + ", with the name of " + std::string(a_pickle));
}

bool is_of_pickle(const UserError& error) {
  return error.report().found.ends_with(a_pickle);
}

bool looks_like_pickle(Bytes bytes) {
  constexpr std::byte protocol_mark{0x80};
  return bytes.size() >= 2 && bytes[0] == protocol_mark && bytes[1] >= std::byte{2} &&
         bytes[1] <= std::byte{5};
}

}  // namespace weft::io
