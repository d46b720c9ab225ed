#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/contestant_library.h>
#include <weft/search/measure/running_call.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr const char* one_library =
    "a folder with one shared library, *.so, that has the functions of "
    "weft/search/measure/contestant_interface.h";

/// The only file of the folder that ends in .so.
fs::path library_in(const std::string& folder, const std::string& where) {
  std::vector<std::string> libraries, others;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const bool is_library = entry->path().extension() == ".so";
    (is_library ? libraries : others).push_back(entry->path().filename().string());
  }
  if (error)
    throw UserError("the folder of a contestant cannot be read", where, error.message(), one_library);
  if (libraries.size() == 1) return fs::absolute(fs::path(folder) / libraries.front());
  std::vector<std::string>& named = libraries.empty() ? others : libraries;
  std::ranges::sort(named);
  constexpr std::size_t most_named = 5;
  const bool all = named.size() <= most_named;
  if (!all) named.resize(most_named);
  const std::string found = named.empty() ? "an empty folder"
                                          : fmt::format("{}{}{}", libraries.empty() ? "no *.so, but " : "",
                                                        fmt::join(named, ", "), all ? "" : ", ...");
  throw UserError("the folder of a contestant does not say which library it is", where, found, one_library);
}

/// What the library wrote, in one line and without what would move a cursor.
std::string in_plain_words(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  const std::size_t end = text.find_last_not_of(' ');
  return end == std::string::npos ? std::string()
                                  : text.substr(std::min(text.find_first_not_of(' '), end), end + 1);
}

/// Room for a sentence of the library's.
struct Why {
  std::array<char, 1024> text;
  Why() { text.front() = 0; }  // a launch is timed with it, so nothing more

  std::string sentence() {
    text.back() = 0;
    const std::string words = in_plain_words(text.data());
    return words.empty() ? "it does not say why" : words;
  }
};

/// A function of the library, which must not throw and may be C++ all the same.
template <class Call>
auto guarded(const std::string& who, const char* function, Call&& call) {
  const RunningCall running(who.c_str(), function);
  try {
    return call();
  } catch (const std::exception& error) {
    throw RuntimeError(fmt::format("{} threw an exception: {}", function, in_plain_words(error.what())));
  } catch (...) {
    throw RuntimeError(fmt::format("{} threw an exception", function));
  }
}

[[noreturn]] void tell_failure(const char* function, int code, Why& why) {
  throw RuntimeError(fmt::format("{} failed with {}: {}", function, code, why.sentence()));
}

std::string text_or_nothing(const char* text) {
  return text != nullptr ? text : "";
}

bool is_name(const std::string& text) {
  constexpr std::size_t most = 40;
  return !text.empty() && text.size() <= most &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7F && c != '"'; }) &&
         text.front() != ' ' && text.back() != ' ';
}

}  // namespace

std::shared_ptr<const ContestantLibrary> ContestantLibrary::open(const std::string& folder) {
  const fs::path path = library_in(folder, "--contestant " + folder);
  const std::string where = "--contestant " + folder + ", " + path.filename().string();
  const auto library = std::make_shared<ContestantLibrary>();
  library->library_ = SharedLibrary::open({path.string()}, {});
  if (!library->library_)
    throw UserError(
        "the library of a contestant cannot be loaded", where, library->library_.reason(),
        "a shared library for this machine, and on the loader's path (LD_LIBRARY_PATH) what it needs");
  RunningCall::listen();
  library->name_ = path.filename().string();  // until it says another one
  library->resolve(where);
  library->describe(where);
  return library;
}

void ContestantLibrary::resolve(const std::string& where) {
  std::vector<std::string> missing;
  const auto find = [&](auto*& function, const char* symbol) {
    if (!library_.resolve(function, symbol)) missing.emplace_back(symbol);
  };
  find(describe_, "weft_contestant_describe");
  find(takes_, "weft_contestant_takes");
  find(prepare_, "weft_contestant_prepare");
  find(launch_, "weft_contestant_launch");
  find(release_, "weft_contestant_release");
  if (!missing.empty())
    throw UserError("the library is no contestant", where,
                    fmt::format("it has no {}", fmt::join(missing, ", no ")),
                    "the five functions of weft/search/measure/contestant_interface.h, exported as C");
}

void ContestantLibrary::describe(const std::string& where) {
  const weft_contestant_description* description = guarded(name_, "weft_contestant_describe", describe_);
  if (description == nullptr)
    throw UserError("the contestant does not say who it is", where, "NULL from weft_contestant_describe",
                    "a weft_contestant_description");
  // Of another interface nothing else may be read.
  if (description->interface_version != WEFT_CONTESTANT_INTERFACE)
    throw UserError("the contestant is of another interface", where,
                    fmt::format("interface {}", description->interface_version),
                    fmt::format("interface {}: compile it with the contestant_interface.h of this weft",
                                WEFT_CONTESTANT_INTERFACE));
  name_ = text_or_nothing(description->name);
  if (!is_name(name_))
    throw UserError("the contestant has no name that a table can have", where,
                    description->name == nullptr ? "NULL" : in_plain_words(name_.substr(0, 80)),
                    "1 to 40 printable characters of ASCII, none a quote");
  const std::string arithmetic = text_or_nothing(description->arithmetic);
  rounds_to_tf32_ = arithmetic == "tf32";
  if (!arithmetic.empty() && !rounds_to_tf32_)
    throw UserError("nobody knows how precise the contestant is", where,
                    "arithmetic " + in_plain_words(arithmetic),
                    "\"tf32\", or nothing where it computes with the elements as they are");
  const std::string version = in_plain_words(text_or_nothing(description->version));
  version_ = fmt::format("contestant {}{}{} ({})", name_, version.empty() ? "" : " ", version,
                         library_.path().filename().string());
}

weft_contestant_wishes ContestantLibrary::take(const weft_contestant_problem& problem) const {
  weft_contestant_wishes wishes{};
  Why why;
  const int code = guarded(name_, "weft_contestant_takes",
                           [&] { return takes_(&problem, &wishes, why.text.data(), why.text.size()); });
  if (code != 0) throw UserError("it does not take the problem: " + why.sentence());
  return wishes;
}

void* ContestantLibrary::prepare(const weft_contestant_problem& problem,
                                 const weft_contestant_operands& operands) const {
  void* prepared = nullptr;
  Why why;
  const int code = guarded(name_, "weft_contestant_prepare", [&] {
    return prepare_(&problem, &operands, &prepared, why.text.data(), why.text.size());
  });
  if (code != 0) tell_failure("weft_contestant_prepare", code, why);
  return prepared;
}

void ContestantLibrary::launch(void* prepared, void* stream) const {
  Why why;
  const int code = guarded(name_, "weft_contestant_launch",
                           [&] { return launch_(prepared, stream, why.text.data(), why.text.size()); });
  if (code != 0) tell_failure("weft_contestant_launch", code, why);
}

void ContestantLibrary::release(void* prepared) const noexcept {
  const RunningCall running(name_.c_str(), "weft_contestant_release");
  release_(prepared);
}

}  // namespace weft
