#include <fmt/format.h>
#include <weft/formats/io/file.h>
#include <weft/formats/io/npz.h>
#include <weft/formats/io/onnx.h>
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

/// A name or a type that a file of the format has no use for.
void check_options(const FileFormat& format, Path path, Options options) {
  if (!format.has_names && !options.tensor.empty())
    io::refuse(path, "the name of a tensor",
               "one matrix without a name, while " + io::in_quotes(options.tensor) + " was asked for",
               "no tensor name");
  if (format.is_text && options.reinterpret_as)
    io::refuse(
        path, {},
        fmt::format("a file of text, whose bits were to be seen as {}", name_of(*options.reinterpret_as)),
        ".npy, .npz or .safetensors");
}

WeightMatrix read_safetensors(Bytes bytes, Path path, Options options) {
  return io::weights_among(io::parse_safetensors_header(bytes, path), path, options);
}
Array read_safetensors_array(Bytes bytes, Path path, Options options) {
  return io::array_among(io::parse_safetensors_header(bytes, path), path, options);
}

std::vector<ListedWeight> list_safetensors(Bytes bytes, Path path) {
  return io::list_among(io::parse_safetensors_header(bytes, path), path);
}

/// The format that files of such a name have; null where the name says nothing.
const FileFormat* format_of_name(Path path) {
  for (const FileFormat& format : file_formats()) {
    const auto matches = [&](std::string_view extension) { return path.ends_with(extension); };
    if (std::ranges::any_of(format.extensions, matches)) return &format;
  }
  return nullptr;
}

/// What `read` makes of a file. Where it refuses one whose name is of another format, or whose bytes do not
/// begin as its name says, whoever gave the file may take it for something else.
template <class Read>
auto read_as(const FileFormat& format, Bytes bytes, Path path, const Read& read) {
  try {
    return read();
  } catch (const UserError& error) {
    const FileFormat* const named = format_of_name(path);
    const bool is_known = format.recognize(bytes);
    if (io::is_of_pickle(error)) throw;  // no other name would help
    if (is_known && (named == nullptr || named == &format)) throw;
    UserError::Report report = error.report();
    if (is_known) {
      report.found += fmt::format("; the file begins as {}, not as its name says", format.name);
      report.accepted.insert(
          std::min(report.accepted.find('\n'), report.accepted.size()),
          fmt::format("; a name that ends with {} would be right", format.extensions.front()));
    } else if (const std::string beginning = io::beginning_of(bytes);
               report.found.find(beginning) == std::string::npos) {
      report.found += ", in " + beginning;
    }
    throw UserError(std::move(report));
  }
}

std::string list_of_formats() {
  std::string text;
  for (const FileFormat& format : file_formats())
    text += fmt::format("\n              {:<26} {}", fmt::format("{}", fmt::join(format.extensions, " ")),
                        format.summary);
  return text;
}

}  // namespace

/// The last one has the weakest mark, so it is asked last.
std::span<const FileFormat> file_formats() {
  static const std::vector<FileFormat> formats{
      {.name = "npy",
       .extensions = {".npy"},
       .summary = "NumPy array, dense with zeros",
       .recognize = io::looks_like_npy,
       .read = io::parse_npy_weights,
       .read_array = io::parse_npy,
       .list = io::list_npy,
       .has_names = false},
      {.name = "npz",
       .extensions = {".npz"},
       .summary = "NumPy arrays, or one sparse matrix of scipy",
       .recognize = io::looks_like_zip,
       .read = io::parse_npz_weights,
       .read_array = io::parse_npz_array,
       .list = io::list_npz},
      {.name = "mtx",
       .extensions = {".mtx"},
       .summary = "Matrix Market, coordinate or array",
       .recognize = io::looks_like_mtx,
       .read = [](Bytes bytes, Path path, Options) { return io::parse_mtx(bytes, path); },
       .read_array = nullptr,
       .list = io::list_mtx,
       .has_names = false,
       .is_text = true},
      {.name = "safetensors",
       .extensions = {".safetensors"},
       .summary = "named tensors: dense with zeros or masks, bitmasks, CSR parts, or 2:4 as PyTorch packs it",
       .recognize = io::looks_like_safetensors,
       .read = read_safetensors,
       .read_array = read_safetensors_array,
       .list = list_safetensors},
      {.name = "safetensors index",
       .extensions = {".safetensors.index.json"},
       .summary = "the shards of a large model",
       .recognize = io::looks_like_safetensors_index,
       .read = io::read_sharded_weights,
       .read_array = io::read_sharded_array,
       .list = io::list_sharded_weights},
      {.name = "pickle",
       .extensions = {".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt"},
       .summary = "refused; the message says how to convert it",
       .recognize = io::looks_like_pickle,
       .read = [](Bytes bytes, Path path, Options) -> WeightMatrix { io::refuse_named_pickle(bytes, path); },
       .read_array = [](Bytes bytes, Path path, Options) -> Array { io::refuse_named_pickle(bytes, path); },
       .list = [](Bytes bytes, Path path) -> std::vector<ListedWeight> {
         io::refuse_named_pickle(bytes, path);
       }},
      {.name = "onnx",
       .extensions = {".onnx"},
       .summary = "tensors of a model of ONNX, its sparse ones too",
       .recognize = io::looks_like_onnx,
       .read = io::parse_onnx_weights,
       .read_array = io::parse_onnx_array,
       .list = io::list_onnx},
      {.name = "smtx",
       .extensions = {".smtx"},
       .summary = "DLMC: positions without values",
       .recognize = io::looks_like_smtx,
       .read = [](Bytes bytes, Path path, Options) { return io::parse_smtx(bytes, path); },
       .read_array = nullptr,
       .list = io::list_smtx,
       .has_names = false,
       .is_text = true},
  };
  return formats;
}

const FileFormat& file_format_of(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.empty()) io::refuse(path, "byte 0", "an empty file", "one of" + list_of_formats());
  for (const FileFormat& format : file_formats()) {
    if (format.recognize(bytes)) return format;
  }
  if (const FileFormat* const named = format_of_name(path)) return *named;
  io::refuse(path, "byte 0", io::beginning_of(bytes) + ": neither a known extension nor a known beginning",
             "one of" + list_of_formats());
}

WeightMatrix read(const std::string& path, const ReadOptions& options, CallPlace place) {
  return user_call(place, [&] {
    const io::File file(path);
    const FileFormat& format = file_format_of(file.bytes(), path);
    check_options(format, path, options);
    WeightMatrix weights =
        read_as(format, file.bytes(), path, [&] { return format.read(file.bytes(), path, options); });
    if (options.row_dimensions == 1) return weights;
    return with_row_dimensions(std::move(weights), options.row_dimensions);
  });
}

Array read_array(const std::string& path, const std::string& tensor, std::optional<DType> reinterpret_as,
                 CallPlace place) {
  return user_call(place, [&] {
    const io::File file(path);
    const FileFormat& format = file_format_of(file.bytes(), path);
    if (format.read_array == nullptr)
      io::refuse(path, {}, "a " + std::string(format.name) + " file, which holds no dense array",
                 ".npy, .npz or .safetensors");
    const ReadOptions options{.tensor = tensor, .reinterpret_as = reinterpret_as};
    check_options(format, path, options);
    return read_as(format, file.bytes(), path,
                   [&] { return format.read_array(file.bytes(), path, options); });
  });
}

}  // namespace weft
