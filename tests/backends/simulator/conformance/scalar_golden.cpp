#include "scalar_golden.h"

#include <fmt/format.h>
#include <weft/dsl/errors.h>

#include <charconv>
#include <fstream>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weft::simulator::scalar_tests {
namespace {

std::size_t digits_of(const Kernel& kernel) {
  return kernel.result == Value::predicate ? 1 : static_cast<std::size_t>(bytes_of(kernel.result)) * 2;
}

std::string operands_text(const Kernel& kernel, std::size_t row) {
  const std::vector<std::uint64_t> operands = operands_of(kernel);
  std::string text;
  for (std::size_t which = 0; which < kernel.sources.size(); ++which)
    text += fmt::format(" {:x}", operands[which * rows + row]);
  return text;
}

bool agrees(const Kernel& kernel, std::uint64_t here, std::uint64_t there) {
  return kernel.is_exact() ? here == there
                           : is_near(kernel.result, here, there, kernel.relative, kernel.absolute);
}

}  // namespace

std::uint64_t hash_of_chunk(const std::vector<std::uint64_t>& results, std::size_t chunk) {
  return XXH3_64bits(&results[chunk * chunk_rows], chunk_rows * sizeof results[0]);
}

std::string golden_line(const Kernel& kernel, const std::vector<std::uint64_t>& results) {
  std::string line = fmt::format("{:016x} ", signature_of(kernel));
  for (std::size_t chunk = 0; chunk < rows / chunk_rows; ++chunk)
    line += fmt::format("{:016x}", hash_of_chunk(results, chunk));
  line += ' ';
  for (std::size_t row = 0; row < kept_rows; ++row)
    line += fmt::format("{:0{}x}", results[row], digits_of(kernel));
  return line + ' ' + kernel.name + '\n';
}

std::map<std::string, Golden> read_golden(const std::string& path) {
  std::map<std::string, Golden> all;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(' '), second = line.find(' ', first + 1),
                      third = line.find(' ', second + 1);
    if (third == std::string::npos || (third - second - 1) % kept_rows != 0)
      throw UserError("reading recorded results", path, line.substr(0, 80),
                      "signature, hashes, results, name");
    const auto number = [&line](std::size_t start, std::size_t digits) {
      std::uint64_t value = 0;
      std::from_chars(line.data() + start, line.data() + start + digits, value, 16);
      return value;
    };
    Golden golden;
    golden.signature = number(0, first);
    for (std::size_t at = first + 1; at + 16 <= second; at += 16) golden.hashes.push_back(number(at, 16));
    const std::size_t digits = (third - second - 1) / kept_rows;
    for (std::size_t row = 0; row < kept_rows; ++row)
      golden.results.push_back(number(second + 1 + row * digits, digits));
    all.emplace(line.substr(third + 1), std::move(golden));
  }
  return all;
}

std::string difference(const Kernel& kernel, const Golden& golden,
                       const std::vector<std::uint64_t>& results) {
  if (golden.signature != signature_of(kernel))
    return kernel.name + ": recorded for other operands; record again";
  std::size_t wrong = 0;
  std::string text;
  for (std::size_t row = 0; row < kept_rows; ++row) {
    if (agrees(kernel, results[row], golden.results[row])) continue;
    if (++wrong <= 3)
      text += fmt::format("; of{} here {:x}, there {:x}", operands_text(kernel, row), results[row],
                          golden.results[row]);
  }
  if (wrong > 0) return fmt::format("{}: {} of {} differ{}", kernel.name, wrong, kept_rows, text);
  if (!kernel.is_exact()) return {};
  for (std::size_t chunk = 0; chunk < golden.hashes.size(); ++chunk) {
    if (golden.hashes[chunk] != hash_of_chunk(results, chunk))
      return fmt::format("{}: the results of rows {} to {} differ", kernel.name, chunk * chunk_rows,
                         (chunk + 1) * chunk_rows - 1);
  }
  return {};
}

}  // namespace weft::simulator::scalar_tests
