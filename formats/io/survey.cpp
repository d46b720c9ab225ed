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

/// The bits, of an exponent mostly, which are all ones in NaN and infinity alone; none for integers.
std::uint64_t exponent_bits(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x7C00;
    case DType::bf16: return 0x7F80;
    case DType::f32: return 0x7F80'0000;
    case DType::f64: return 0x7FF0'0000'0000'0000;
    case DType::e4m3: return 0x7F;  // NaN has all bits set, and there is no infinity
    case DType::e5m2: return 0x7C;
    default: return 0;
  }
}

/// What is looked for in the words of a tensor.
template <class Word>
struct Masks {
  Word significant;  ///< all bits but a sign
  Word exponent;

  explicit Masks(DType dtype)
      : significant(static_cast<Word>(static_cast<Word>(~Word{0}) >> (is_float(dtype) ? 1 : 0))),
        exponent(static_cast<Word>(exponent_bits(dtype))) {}
  bool is_not_finite(Word word) const { return (word & exponent) == exponent; }
};

/// What was seen of a run of words, in words as narrow, so that vectors of them do.
template <class Word>
struct Seen {
  Word zeros = 0;
  Word not_finite = 0;
};

template <class Word>
Word word_at(const std::byte* words, std::int64_t index) {
  Word word;
  std::memcpy(&word, words + static_cast<std::size_t>(index) * sizeof word, sizeof word);
  return word;
}

template <class Word>
inline Seen<Word> look(const std::byte* words, std::int64_t count, Masks<Word> masks) {
  Seen<Word> seen;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto word = word_at<Word>(words, i);
    seen.zeros = static_cast<Word>(seen.zeros + ((word & masks.significant) == 0 ? 1 : 0));
    seen.not_finite = static_cast<Word>(seen.not_finite | (masks.is_not_finite(word) ? 1 : 0));
  }
  return seen;
}

template <class Word>
WeightSurvey survey_words(Bytes bytes, DType dtype) {
  // As many as a byte can count. The compiler makes vectors only of a count that it knows.
  constexpr std::int64_t run = 128;
  const Masks<Word> masks(dtype);
  WeightSurvey result;
  result.elements = static_cast<std::int64_t>(bytes.size() / sizeof(Word));
  for (std::int64_t begin = 0; begin < result.elements; begin += run) {
    const std::byte* words = bytes.data() + static_cast<std::size_t>(begin) * sizeof(Word);
    const std::int64_t count = std::min(run, result.elements - begin);
    const Seen<Word> seen = count == run ? look(words, run, masks) : look(words, count, masks);
    result.zeros += static_cast<std::int64_t>(seen.zeros);
    if (!is_float(dtype) || seen.not_finite == 0 || result.first_not_finite) continue;
    std::int64_t first = 0;
    while (!masks.is_not_finite(word_at<Word>(words, first))) ++first;
    result.first_not_finite = begin + first;
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
