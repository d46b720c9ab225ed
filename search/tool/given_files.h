// Files that a command line names: what is told of them before anything is read or written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::tool {

/// UserError, naming the option, where no file of that path could be written: told before what takes long,
/// and not after it. Nothing for an empty path.
void require_place_for(const std::string& option, const std::string& path);

/// UserError, naming the option, for a file whose name says that it is something else than what is written:
/// `what` is that, "a picture is written as SVG", and `endings` are the names' own, ".svg".
void require_ending(const std::string& option, const std::string& path, std::string_view what,
                    const std::vector<std::string_view>& endings);

/// What an option names to be read: a file, or words that are none.
struct ReadFile {
  std::string_view option;
  std::string path;
};

/// UserError where the file that is to be written is one of those that are read: it would be lost.
void require_apart_from(const std::string& option, const std::string& path,
                        const std::vector<ReadFile>& read);

/// The files that an option may name several of.
std::vector<ReadFile> files_read(std::string_view option, const std::vector<std::string>& paths);

/// UserError where what should be weights is another file of weft's: a schedule, a database of trials, a
/// suite, a predictor. `schedule` is what --schedule names beside it: the two may have been exchanged.
void refuse_other_file_for_weights(const std::string& option, const std::string& path,
                                   const std::string& schedule = {});

/// UserError where a file of weft's is given in place of what is `accepted`.
void refuse_own_file(const std::string& option, const std::string& path, const std::string& accepted);

}  // namespace weft::tool
