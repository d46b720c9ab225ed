// One pass over a dense tensor where it lies in its file.
#include <weft/formats/io/file.h>
#include <weft/formats/io/safetensors_index.h>
#include <weft/formats/io/split_weight.h>
#include <weft/formats/io/weight_list.h>

#include <algorithm>
#include <cstring>

namespace weft {
namespace {

using io::Bytes;

/// The bits of an exponent, which are all ones in NaN and infinity; none for integers.
std::uint64_t exponent_bits(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x7C00;
    case DType::bf16: return 0x7F80;
    case DType::f32: return 0x7F80'0000;
    case DType::f64: return 0x7FF0'0000'0000'0000;
    default: return 0;
  }
}

template <class Word>
Word word_at(Bytes bytes, std::int64_t index) {
  Word word;
  std::memcpy(&word, bytes.data() + static_cast<std::size_t>(index) * sizeof word, sizeof word);
  return word;
}

template <class Word>
WeightSurvey survey_words(Bytes bytes, DType dtype) {
  // A run is short enough that its count fits the narrowest word, so that the loop is one of vectors.
  constexpr std::int64_t run = 128;
  const auto exponent = static_cast<Word>(exponent_bits(dtype));
  constexpr auto all = static_cast<Word>(~Word{0});
  const auto significant = is_float(dtype) ? static_cast<Word>(all >> 1) : all;
  WeightSurvey result;
  result.elements = static_cast<std::int64_t>(bytes.size() / sizeof(Word));
  for (std::int64_t begin = 0; begin < result.elements; begin += run) {
    const std::int64_t end = std::min(begin + run, result.elements);
    Word zeros = 0;
    Word wrong = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const Word word = word_at<Word>(bytes, i);
      zeros = static_cast<Word>(zeros + ((word & significant) == 0));
      wrong = static_cast<Word>(wrong | ((word & exponent) == exponent));
    }
    result.zeros += static_cast<std::int64_t>(zeros);
    if (exponent == 0 || wrong == 0 || result.first_not_finite) continue;
    for (std::int64_t i = begin; i < end && !result.first_not_finite; ++i) {
      if ((word_at<Word>(bytes, i) & exponent) == exponent) result.first_not_finite = i;
    }
  }
  return result;
}

WeightSurvey survey_tensor(const io::StoredTensor& tensor) {
  const DType dtype = io::element_type_of(tensor);
  switch (size_of(dtype)) {
    case 1: return survey_words<std::uint8_t>(tensor.bytes, dtype);
    case 2: return survey_words<std::uint16_t>(tensor.bytes, dtype);
    case 4: return survey_words<std::uint32_t>(tensor.bytes, dtype);
    default: return survey_words<std::uint64_t>(tensor.bytes, dtype);
  }
}

/// The file that holds the bytes of a weight.
std::string file_of(const ListedWeight& weight) {
  const io::File file(weight.path);
  return io::looks_like_safetensors_index(file.bytes())
             ? io::shard_of(file.bytes(), weight.path, weight.tensor)
             : weight.path;
}

std::optional<WeightSurvey> survey_file(const std::string& path, const std::string& name) {
  const io::File file(path);
  if (!io::looks_like_safetensors(file.bytes())) return std::nullopt;
  const std::vector<io::StoredTensor> tensors = io::parse_safetensors_header(file.bytes(), path);
  const io::StoredTensor* tensor = io::finder(tensors)(name);
  if (tensor == nullptr)
    io::refuse(path, {}, "no tensor named " + io::in_quotes(name), "a tensor that list_weights has listed");
  return survey_tensor(*tensor);
}

}  // namespace

std::optional<WeightSurvey> survey(const ListedWeight& weight, CallPlace place) {
  if (weight.stored_as != "dense") return std::nullopt;
  return user_call(place, [&] { return survey_file(file_of(weight), weight.tensor); });
}

}  // namespace weft
