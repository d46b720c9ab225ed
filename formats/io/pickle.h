// Python pickles (.pt, .pth, .bin, .pkl): refused, because reading one means running the program inside it.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/formats/io/bytes.h>

#include <string>

namespace weft::io {

/// Throws the UserError that says how to turn the file into .safetensors.
[[noreturn]] void refuse_pickle(const std::string& origin);
/// The same for a file that has the name of a pickle, whatever its bytes are.
[[noreturn]] void refuse_named_pickle(Bytes bytes, const std::string& origin);

/// Whether the error is one of these two.
bool is_of_pickle(const UserError& error);

/// A pickle of protocol 2 or later, as torch.save wrote before it used ZIP, and as pickle.dump writes.
bool looks_like_pickle(Bytes bytes);

}  // namespace weft::io
