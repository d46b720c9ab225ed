#include "random_calls/calls.h"

#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <new>
#include <regex>

namespace weft::test {
namespace {

void arm(int seconds) {
  itimerval limit{};
  limit.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &limit, nullptr);
  alarm(static_cast<unsigned>(3 * seconds));
}

/// Numbers and quoted names are not what makes a kind of failure.
std::string kind_of(const std::string& text) {
  static const std::regex numbers("-?[0-9]+(\\.[0-9]+)?(e[-+]?[0-9]+)?");
  static const std::regex names("\"[^\"]*\"");
  return std::regex_replace(std::regex_replace(text.substr(0, 400), names, "\"…\""), numbers, "#");
}

/// A place in weft's own files is none that the user can go to.
bool names_own_file(const std::string& text) {
  static const std::regex place("([a-z_0-9]+)\\.(cpp|h):[0-9]+");
  for (std::sregex_iterator found(text.begin(), text.end(), place), end; found != end; ++found) {
    const std::string file = (*found)[1];
    if (file.find("program") == std::string::npos && !file.starts_with("random_")) return true;
  }
  return false;
}

bool has_foreign_text(std::string_view text) {
  for (const std::string_view word : {"json.exception", "std::", "map::at", "what():", "basic_string",
                                      "vector::", "_M_range_check", "_M_construct", "bad_alloc"}) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

Ledger& shared_ledger() {
  void* memory = mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return *new (memory) Ledger{};
}

void Calls::begin(std::uint64_t seed) {
  ledger_.seed = seed;
  ledger_.log_size = 0;
  damaged_places = false;
  ++ledger_.programs;
}

void Calls::progresses() {
  arm(hang_seconds);
}

void Calls::note(std::string_view line) {
  if (tells_all) std::cout << line << std::endl;
  const std::size_t room = sizeof(ledger_.log) - ledger_.log_size - 1;
  const std::size_t size = std::min({line.size(), room, std::size_t{20000}});
  std::memcpy(ledger_.log + ledger_.log_size, line.data(), size);
  ledger_.log_size += size;
  ledger_.log[ledger_.log_size++] = '\n';
  ledger_.log_size = std::min(ledger_.log_size, sizeof(ledger_.log) - 1);
}

bool Calls::accepted(const std::string& text, const std::function<void()>& action, Outside outside) {
  note(text);
  ++ledger_.calls;
  arm(hang_seconds);
  try {
    action();
    arm(0);
    return true;
  } catch (const UserError& error) {
    const bool infeasible = dynamic_cast<const InfeasibleError*>(&error) != nullptr;
    ++(infeasible ? ledger_.infeasible : ledger_.refused);
    const UserError::Report& report = error.report();
    note("  refused: " + std::string(error.what()));
    if (report.where.empty()) ++ledger_.placeless;
    if (report.what.empty() || report.found.empty() || report.accepted.empty()) {
      fail(std::string("a refusal without ") +
           (report.what.empty()    ? "what"
            : report.found.empty() ? "found"
                                   : "accepted") +
           ": " + error.what());
    } else if (!damaged_places && names_own_file(report.where)) {
      fail("a refusal that names a file of weft's own: " + std::string(error.what()));
    } else if (has_foreign_text(error.what())) {
      fail("a refusal with foreign text: " + std::string(error.what()));
    }
  } catch (const RuntimeError& error) {
    note("  failed: " + std::string(error.what()));
    if (outside == Outside::is_weft) fail("a failure at run time: " + std::string(error.what()));
    ++ledger_.failed;
  } catch (const InternalError& error) {
    fail("internal error: " + std::string(error.what()));
  } catch (const TooLong&) {
    note("  too long to simulate");
    ++ledger_.too_long;
  } catch (const std::exception& error) {
    fail("foreign exception from " + text.substr(0, 40) + ": " + error.what());
  } catch (...) {
    fail("foreign exception from " + text.substr(0, 40));
  }
  arm(0);
  return false;
}

void Calls::compared(const std::string& disagreement, const std::string& where, bool on_gpu) {
  ++ledger_.compared;
  if (on_gpu) ++ledger_.compared_on_gpu;
  if (disagreement.empty()) return;
  note("  WRONG: " + disagreement);
  fail("wrong numbers: " + where);
}

void Calls::fail(const std::string& text) {
  ++ledger_.failures;
  note("  FAILURE: " + text);
  const std::string kind = kind_of(text);
  const std::uint64_t hash = std::hash<std::string>{}(kind);
  const auto end = ledger_.kind + ledger_.kind_count;
  Ledger::Kind* found =
      std::find_if(ledger_.kind, end, [&](const Ledger::Kind& k) { return k.hash == hash; });
  const bool is_new = found == end;
  if (is_new && ledger_.kind_count == Ledger::kinds) return;
  if (is_new) {
    ++ledger_.kind_count;
    *found = {hash, 0, ledger_.seed, 0, false, {}};
    std::strncpy(found->text, text.c_str(), sizeof(found->text) - 1);
    found->known = std::any_of(known_.begin(), known_.end(), [&](const std::string& expression) {
      return std::regex_search(text, std::regex(expression));
    });
  }
  ++found->count;
  found->last_seed = ledger_.seed;
  if (!tells_all && !found->known && found->count <= 2)
    std::cout << "\nFAILURE at seed " << ledger_.seed << ": " << text << "\n" << log() << std::endl;
}

}  // namespace weft::test
