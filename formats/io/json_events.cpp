#include <fmt/format.h>
#include <weft/formats/io/json_events.h>

namespace weft::io {
namespace {

/// Walks over text and leaves word of where it is.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

}  // namespace

void JsonEvents::run() {
  // The parser would skip a byte-order mark, which the formats do not allow.
  if (!text_.starts_with('{')) refuse_here("another beginning", "'{'");
  const char* const end = at_ + text_.size();
  nlohmann::json::sax_parse(CountingIterator(at_, &at_), CountingIterator(end, &at_), this);
}

bool JsonEvents::parse_error(std::size_t position, const std::string& token,
                             const nlohmann::json::exception&) {
  const std::size_t at = begin_ + (position > 0 ? position - 1 : 0);
  refuse(origin_, fmt::format("byte {}", at), "no JSON: " + in_quotes(token), expected());
}

void JsonEvents::refuse_here(const std::string& found, const std::string& accepted) const {
  const auto read = static_cast<std::size_t>(at_ - text_.data());
  refuse(origin_, fmt::format("before byte {}", begin_ + read), found, accepted);
}

}  // namespace weft::io
