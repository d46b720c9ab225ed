// The verb tune as a process, in a folder of its own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <unistd.h>
#include <weft/backends/runtime/process.h>

#include <filesystem>
#include <string>
#include <vector>

namespace weft {

namespace fs = std::filesystem;

class TuneVerb : public ::testing::Test {
 public:
  TuneVerb() : folder_(fs::temp_directory_path() / ("weft_tune_verb_" + std::to_string(getpid()))) {
    fs::create_directory(folder_);
  }
  ~TuneVerb() override { fs::remove_all(folder_); }
  TuneVerb(const TuneVerb&) = delete;
  TuneVerb& operator=(const TuneVerb&) = delete;

  std::vector<std::string> command(std::vector<std::string> more) const {
    std::vector<std::string> words{
        WEFT_COMMAND, "tune", "--op",    "spmm", "--weights", "made:M=64,K=96,sparsity=0.9",
        "--n",        "196",  "--dtype", "f32"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  ProcessResult tune(std::vector<std::string> more) const {
    ProcessOptions options;
    options.folder = folder_;
    return run_process(command(std::move(more)), options);
  }
  ProcessResult weft(std::vector<std::string> words) const {
    ProcessOptions options;
    options.folder = folder_;
    words.insert(words.begin(), WEFT_COMMAND);
    return run_process(words, options);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Starts it in the background.
  pid_t start(const std::vector<std::string>& words) const {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, path("said").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_addchdir_np(&actions, folder_.c_str());
    pid_t child = 0;
    const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? child : -1;
  }

 private:
  fs::path folder_;
};

inline const std::vector<std::string> by_model{"--target", "sm_90", "--measure", "model",
                                               "--trials", "20",    "--db",      "t.jsonl"};

}  // namespace weft
