// .onnx: a graph of nodes, and the tensors that it starts with. Fields and numbers are those of onnx.proto
// (ONNX 1.17).
#pragma once

#include <weft/formats/io/file.h>
#include <weft/formats/io/safetensors.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace weft::io {

/// A node of the graph, with those of its attributes that are numbers or words.
struct OnnxNode {
  std::string name;
  std::string op;  ///< "Conv"; "domain.Op" of other domains
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, std::vector<std::int64_t>> integers;
  std::map<std::string, double> factors;
  std::map<std::string, std::string> words;

  std::int64_t integer(const std::string& attribute, std::int64_t usual) const;
  double factor(const std::string& attribute, double usual) const;
};

/// A tensor of which the file has the places that are not zero.
struct OnnxSparseTensor {
  StoredTensor values;
  StoredTensor indices;  ///< I64, [entries] in row-major order, or [entries, dimensions]
  std::vector<std::int64_t> shape;
};

struct OnnxModel {
  std::vector<StoredTensor> tensors;  ///< initializers and constants, by their order in the file
  std::vector<OnnxSparseTensor> sparse;
  std::vector<OnnxNode> nodes;
  /// Of inputs and values, where the file has them; unknown_extent where a size has a name or none.
  std::map<std::string, std::vector<std::int64_t>> shapes;
  std::set<std::string> outputs;

  /// What the tensors' bytes lie in beside the file itself: others that it names, and numbers that it packs.
  std::vector<std::shared_ptr<const File>> files;
  std::deque<std::vector<std::byte>> unpacked;
};

/// `origin` is the file's path, beside which others that it names stand. UserError, naming the byte, for what
/// is no such file, for tensors whose sizes and bytes disagree, and for files that it names and that are not
/// there.
OnnxModel parse_onnx(Bytes bytes, const std::string& origin);

WeightMatrix parse_onnx_weights(Bytes bytes, const std::string& path, const ReadOptions& options);
Array parse_onnx_array(Bytes bytes, const std::string& path, const ReadOptions& options);
std::vector<ListedWeight> list_onnx(Bytes bytes, const std::string& path);
bool looks_like_onnx(Bytes bytes);

}  // namespace weft::io
