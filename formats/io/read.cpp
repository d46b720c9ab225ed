#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/file.h>
#include <weft/formats/io/npz.h>
#include <weft/formats/io/pickle.h>
#include <weft/formats/io/read.h>
#include <weft/formats/io/safetensors_index.h>
#include <weft/formats/io/smtx.h>
#include <weft/formats/io/zip_archive.h>

#include <algorithm>

namespace weft {
namespace {

using io::Bytes;
using Path = const std::string&;
using Options = const ReadOptions&;

void refuse_reinterpretation(Path path, Options options) {
  if (!options.reinterpret_as) return;
  io::refuse(
      path, {},
      fmt::format("a file of text, whose bits were to be seen as {}", name_of(*options.reinterpret_as)),
      ".npy, .npz or .safetensors");
}

void refuse_name(Path path, Options options) {
  if (options.tensor.empty()) return;
  io::refuse(path, {}, "one matrix without a name, while " + io::in_quotes(options.tensor) + " was asked for",
             "no tensor name");
}

WeightMatrix read_smtx(Bytes bytes, Path path, Options options) {
  refuse_name(path, options);
  refuse_reinterpretation(path, options);
  return io::parse_smtx(bytes, path);
}

WeightMatrix read_mtx(Bytes bytes, Path path, Options options) {
  refuse_name(path, options);
  refuse_reinterpretation(path, options);
  return io::parse_mtx(bytes, path);
}

WeightMatrix read_npy(Bytes bytes, Path path, Options options) {
  refuse_name(path, options);
  return io::parse_npy_weights(bytes, path, options.reinterpret_as);
}

Array read_npy_array(Bytes bytes, Path path, Options options) {
  refuse_name(path, options);
  return io::parse_npy(bytes, path, options.reinterpret_as);
}

WeightMatrix read_npz(Bytes bytes, Path path, Options options) {
  return io::parse_npz_weights(bytes, path, options.tensor, options.reinterpret_as);
}

Array read_npz_array(Bytes bytes, Path path, Options options) {
  return io::parse_npz_array(bytes, path, options.tensor, options.reinterpret_as);
}

WeightMatrix read_safetensors(Bytes bytes, Path path, Options options) {
  return io::weights_among(io::parse_safetensors_header(bytes, path), path, options.tensor,
                           options.reinterpret_as);
}

Array read_safetensors_array(Bytes bytes, Path path, Options options) {
  return io::array_among(io::parse_safetensors_header(bytes, path), path, options.tensor,
                         options.reinterpret_as);
}

WeightMatrix read_index(Bytes bytes, Path path, Options options) {
  return io::read_sharded_weights(bytes, path, options.tensor, options.reinterpret_as);
}

Array read_index_array(Bytes bytes, Path path, Options options) {
  return io::read_sharded_array(bytes, path, options.tensor, options.reinterpret_as);
}

WeightMatrix read_pickle(Bytes, Path path, Options) {
  io::refuse_pickle(path);
}

Array read_pickle_array(Bytes, Path path, Options) {
  io::refuse_pickle(path);
}

/// The last one has the weakest mark, so it is asked last.
const std::vector<FileFormat>& list() {
  static const std::vector<FileFormat> formats{
      {"npy", {".npy"}, "NumPy array, dense with zeros", io::looks_like_npy, read_npy, read_npy_array},
      {"npz",
       {".npz"},
       "NumPy arrays, or one sparse matrix of scipy",
       io::looks_like_zip,
       read_npz,
       read_npz_array},
      {"mtx", {".mtx"}, "Matrix Market, coordinate or array", io::looks_like_mtx, read_mtx, nullptr},
      {"safetensors",
       {".safetensors"},
       "named tensors: dense with zeros, compressed-tensors bitmasks, or 2:4 as PyTorch packs it",
       io::looks_like_safetensors,
       read_safetensors,
       read_safetensors_array},
      {"safetensors index",
       {".safetensors.index.json"},
       "the shards of a large model",
       io::looks_like_safetensors_index,
       read_index,
       read_index_array},
      {"pickle",
       {".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt"},
       "refused; the message says how to convert it",
       io::looks_like_pickle,
       read_pickle,
       read_pickle_array},
      {"smtx", {".smtx"}, "DLMC: positions without values", io::looks_like_smtx, read_smtx, nullptr},
  };
  return formats;
}

std::string list_of_formats() {
  std::string text;
  for (const FileFormat& format : list()) {
    text += fmt::format("\n              {:<26} {}", fmt::join(format.extensions, " "), format.summary);
  }
  return text;
}

}  // namespace

std::span<const FileFormat> file_formats() {
  return list();
}

const FileFormat& file_format_of(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.empty()) io::refuse(path, "byte 0", "an empty file", "one of" + list_of_formats());
  for (const FileFormat& format : list()) {
    if (format.recognize(bytes)) return format;
  }
  for (const FileFormat& format : list()) {
    const auto matches = [&](std::string_view extension) { return path.ends_with(extension); };
    if (std::ranges::any_of(format.extensions, matches)) return format;
  }
  io::refuse(path, "byte 0", "neither a known extension nor a known beginning", "one of" + list_of_formats());
}

WeightMatrix read(const std::string& path, const ReadOptions& options, std::source_location place) {
  return user_call(place, [&] {
    const io::File file(path);
    WeightMatrix weights = file_format_of(file.bytes(), path).read(file.bytes(), path, options);
    if (options.row_dimensions == 1) return weights;
    return with_row_dimensions(std::move(weights), options.row_dimensions);
  });
}

Array read_array(const std::string& path, const std::string& tensor, std::optional<DType> reinterpret_as,
                 std::source_location place) {
  return user_call(place, [&] {
    const io::File file(path);
    const FileFormat& format = file_format_of(file.bytes(), path);
    if (format.read_array == nullptr) {
      io::refuse(path, {}, "a " + std::string(format.name) + " file, which holds no dense array",
                 ".npy, .npz or .safetensors");
    }
    ReadOptions options;
    options.tensor = tensor;
    options.reinterpret_as = reinterpret_as;
    return format.read_array(file.bytes(), path, options);
  });
}

}  // namespace weft
