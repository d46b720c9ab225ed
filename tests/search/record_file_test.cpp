// The file of records: what survives writers that are killed, writers at once, and a full disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/dsl/errors.h>
#include <weft/search/records/record_file.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Mode = RecordFile::Mode;

Record record_number(std::int64_t number) {
  Record record;
  record.kernel = "spmm";
  record.recipe = "test";
  record.config = {{"rows", number}};
  record.target.name = "sm_90";
  record.measure = "model";
  record.microseconds = {static_cast<double>(number + 1), 1, 2, 1};
  return record;
}

template <class Error>
std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class RecordFiles : public ::testing::Test {
 public:
  RecordFiles() : folder_(fs::temp_directory_path() / ("weft_records_" + std::to_string(getpid()))) {
    fs::create_directory(folder_);
  }
  ~RecordFiles() override { fs::remove_all(folder_); }
  RecordFiles(const RecordFiles&) = delete;
  RecordFiles& operator=(const RecordFiles&) = delete;

  std::string path() const { return (folder_ / "t.jsonl").string(); }
  std::string text() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string cut_off() const {
    std::ifstream file(path() + ".cut-off", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }
  std::vector<std::int64_t> rows() const {
    std::vector<std::int64_t> all;
    const RecordFile file(path(), Mode::read);
    for (const StoredRecord& stored : file.records()) all.push_back(stored.record.config.at("rows"));
    return all;
  }

 private:
  fs::path folder_;
};

TEST_F(RecordFiles, BeginWithAHeaderAndKeepTheirOrder) {
  {
    RecordFile file(path(), Mode::append);
    for (const int number : {3, 1, 2}) EXPECT_TRUE(file.append(record_number(number)));
    EXPECT_EQ(file.records().size(), 3U);
    EXPECT_EQ(file.records()[0].line, 2U);
    EXPECT_FALSE(file.records()[0].record.id.empty());
    EXPECT_FALSE(file.records()[0].record.time.empty());
  }
  EXPECT_EQ(text().rfind(R"({"weftdb":1,"created":")", 0), 0U);
  EXPECT_THAT(rows(), ElementsAre(3, 1, 2));
}

TEST_F(RecordFiles, AMeasuredPointIsNotAppendedAgain) {
  RecordFile file(path(), Mode::append);
  EXPECT_TRUE(file.append(record_number(1)));
  EXPECT_TRUE(file.has(record_number(1).key()));
  EXPECT_FALSE(file.append(record_number(1)));
  RecordFile other(path(), Mode::append);
  EXPECT_FALSE(other.append(record_number(1)));
  EXPECT_TRUE(other.append(record_number(2)));
  EXPECT_FALSE(file.append(record_number(2))) << "the other's lines are read before one's own is written";
  EXPECT_THAT(rows(), ElementsAre(1, 2));
}

TEST_F(RecordFiles, ABrokenLastLineIsPassedOverAndHealed) {
  RecordFile(path(), Mode::append).append(record_number(1));
  const std::string whole = text();
  const std::string line = json_of(record_number(2));
  // Wherever the writer was killed.
  for (std::size_t length = 1; length < line.size(); length += 7) {
    write(whole + line.substr(0, length));
    RecordFile file(path(), Mode::append);
    EXPECT_EQ(file.records().size(), 1U);
    ASSERT_EQ(file.warnings().size(), 1U);
    EXPECT_THAT(file.warnings()[0], HasSubstr(":3: the last line has no end"));
    EXPECT_TRUE(file.append(record_number(3)));
    EXPECT_EQ(file.warnings().size(), 1U) << "one warning a line";
    EXPECT_THAT(rows(), ElementsAre(1, 3));
    EXPECT_EQ(text().back(), '\n');
    EXPECT_THAT(file.warnings()[0], HasSubstr("moves it to " + path() + ".cut-off"));
    EXPECT_THAT(RecordFile(path(), Mode::read).warnings(), IsEmpty()) << "nothing of it stays in the file";
    EXPECT_EQ(cut_off(), line.substr(0, length) + "\n");
    fs::remove(path() + ".cut-off");
  }
}

TEST_F(RecordFiles, ARecordThatLacksItsEndAloneIsKept) {
  RecordFile(path(), Mode::append).append(record_number(1));
  write(text() + json_of(record_number(2)));
  {
    RecordFile file(path(), Mode::append);
    EXPECT_EQ(file.records().size(), 1U);
    EXPECT_FALSE(file.append(record_number(2))) << "it is there";
    EXPECT_TRUE(file.append(record_number(3)));
  }
  EXPECT_THAT(rows(), ElementsAre(1, 2, 3));
  EXPECT_EQ(cut_off(), "");
}

TEST_F(RecordFiles, AHeaderThatWasCutOffIsWrittenAgain) {
  RecordFile(path(), Mode::append).append(record_number(1));
  const std::string header = text().substr(0, text().find('\n'));
  for (std::size_t length = 1; length <= header.size(); length += 5) {
    write(header.substr(0, length));
    EXPECT_TRUE(RecordFile(path(), Mode::append).append(record_number(2)));
    EXPECT_THAT(rows(), ElementsAre(2));
    EXPECT_EQ(text().rfind(R"({"weftdb":1,"created":")", 0), 0U);
  }
  write("no database, and no end of a line");
  EXPECT_THAT(message_of<UserError>([&] { RecordFile(path(), Mode::append); }),
              HasSubstr("no database of trials"));
  EXPECT_EQ(text(), "no database, and no end of a line");
}

TEST_F(RecordFiles, TheRestsOfSeveralWritersAreKeptAside) {
  RecordFile(path(), Mode::append).append(record_number(1));
  for (const int number : {2, 3}) {
    write(text() + "{\"rest of\":" + std::to_string(number));
    RecordFile(path(), Mode::append).append(record_number(number));
  }
  EXPECT_THAT(rows(), ElementsAre(1, 2, 3));
  EXPECT_EQ(cut_off(), "{\"rest of\":2\n{\"rest of\":3\n");
}

TEST_F(RecordFiles, SeveralAreAppendedTogetherOrNotAtAll) {
  RecordFile file(path(), Mode::append);
  EXPECT_EQ(file.append_all({record_number(1), record_number(2), record_number(1)}), 2U);
  Record other = record_number(4);
  other.target.name = "sm_80";
  const std::string before = text();
  EXPECT_THAT(message_of<UserError>([&] { file.append_all({record_number(3), other}); }),
              ::testing::AllOf(HasSubstr("sm_80"), HasSubstr("sm_90"), HasSubstr("--allow-arch")));
  EXPECT_THAT(message_of<UserError>([&] { file.append_all({other}); }), HasSubstr("t.jsonl:2"));
  EXPECT_EQ(text(), before);
  EXPECT_EQ(file.append_all({record_number(3), other}, true), 2U);
  EXPECT_THAT(rows(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(file.append_all({}), 0U);
}

TEST_F(RecordFiles, ARecordThatCannotBeIsPassedOverWithItsLine) {
  RecordFile(path(), Mode::append).append(record_number(1));
  const std::string good = json_of(record_number(2));
  const auto with = [&](const std::string& field, const std::string& value) {
    const std::size_t at = good.find("\"" + field + "\":") + field.size() + 3;
    return good.substr(0, at) + value + good.substr(good.find_first_of(",}", at)) + "\n";
  };
  write(text() + with("median", "-5") + with("median", "NaN") + with("median", "null") +
        with("median", "\"fast\"") + with("median", "1e999") + with("p95", "-1") + with("rows", "\"many\"") +
        with("n", "-3") + with("status", "\"good\"") + good + "\n");
  const RecordFile file(path(), Mode::read);
  EXPECT_THAT(rows(), ElementsAre(1, 2));
  ASSERT_EQ(file.warnings().size(), 9U);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_THAT(file.warnings()[i], HasSubstr("t.jsonl:" + std::to_string(i + 3)));
    EXPECT_THAT(file.warnings()[i], HasSubstr("accepted: "));
    EXPECT_THAT(file.warnings()[i], ::testing::Not(HasSubstr("json.exception")));
  }
  EXPECT_THAT(file.warnings()[0], ::testing::AllOf(HasSubstr("us.median"), HasSubstr("-5")));
  EXPECT_THAT(file.warnings()[3], ::testing::AllOf(HasSubstr("us.median"), HasSubstr("fast")));
}

TEST_F(RecordFiles, ABadLineInTheMiddleCostsThatLine) {
  RecordFile(path(), Mode::append).append(record_number(1));
  write(text() + "\n{\"config\": 5\n" + json_of(record_number(2)) + "\n");
  const RecordFile file(path(), Mode::read);
  EXPECT_THAT(rows(), ElementsAre(1, 2));
  ASSERT_EQ(file.warnings().size(), 1U);
  EXPECT_THAT(file.warnings()[0], HasSubstr("t.jsonl:4, column 13"));
  EXPECT_EQ(file.records()[1].line, 5U);
}

TEST_F(RecordFiles, RefuseWhatIsNoDatabase) {
  write("a,b,c\n1,2,3\n");
  EXPECT_THAT(message_of<UserError>([&] { RecordFile(path(), Mode::append); }),
              HasSubstr("no database of trials"));
  EXPECT_EQ(text(), "a,b,c\n1,2,3\n");
  for (const char* later : {"2", "99999999999999999999"}) {
    write(std::string("{\"weftdb\":") + later + "}\n");
    EXPECT_THAT(message_of<UserError>([&] { RecordFile(path(), Mode::read); }), HasSubstr("later version"))
        << later;
  }
  for (const char* none : {"-1", "0", "\"1\"", "1.5", "null"}) {
    write(std::string("{\"weftdb\":") + none + "}\n");
    EXPECT_THAT(
        message_of<UserError>([&] { RecordFile(path(), Mode::read); }),
        ::testing::AllOf(HasSubstr("no such version"), HasSubstr("t.jsonl:1, weftdb"), HasSubstr(none)));
  }
  EXPECT_THAT(
      message_of<UserError>([&] { RecordFile(path() + ".none", Mode::read); }),
      ::testing::AllOf(HasSubstr("cannot read"), HasSubstr("t.jsonl.none"), HasSubstr("no such file")));
  EXPECT_THAT(
      message_of<UserError>([&] { RecordFile("/nowhere/t.jsonl", Mode::append); }),
      ::testing::AllOf(HasSubstr("cannot write /nowhere/t.jsonl"), HasSubstr("a folder that is there")));
  EXPECT_THAT(message_of<UserError>([&] { RecordFile("/dev/zero", Mode::read); }), HasSubstr("/dev/zero"));
}

TEST_F(RecordFiles, RefuseAnotherArchitecturesUnlessAllowed) {
  RecordFile file(path(), Mode::append);
  file.append(record_number(1));
  Record other = record_number(2);
  other.target.name = "sm_80";
  EXPECT_THAT(message_of<UserError>([&] { file.append(other); }),
              ::testing::AllOf(HasSubstr("sm_80"), HasSubstr("sm_90"), HasSubstr("--allow-arch")));
  EXPECT_THAT(rows(), ElementsAre(1));
  other.target.name = "sm_90a";  // the same architecture
  EXPECT_TRUE(file.append(other));
  other.target.name = "sm_80";
  EXPECT_TRUE(file.append(other, true));
}

/// What a child process does; its exit code.
int in_a_child(const std::function<void()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      action();
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(RecordFiles, AFullDiskLeavesTheFileAsItWas) {
  RecordFile(path(), Mode::append).append(record_number(1));
  const std::string before = text();
  // A limit on the size of files ends a write in the middle, as a full disk does.
  const int code = in_a_child([&] {
    const rlimit limit{before.size() + 40, before.size() + 40};
    setrlimit(RLIMIT_FSIZE, &limit);
    RecordFile file(path(), Mode::append);
    for (int i = 0; i < 3; ++i) {
      const std::string message = message_of<RuntimeError>([&] { file.append(record_number(2)); });
      if (message.find("cannot write") == std::string::npos) _exit(2);
    }
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(text(), before);
  EXPECT_TRUE(RecordFile(path(), Mode::append).append(record_number(2)));
  EXPECT_THAT(rows(), ElementsAre(1, 2));
}

TEST_F(RecordFiles, ADeviceThatIsFullIsAnErrorToo) {
  RecordFile file("/dev/full", Mode::append);
  EXPECT_THAT(message_of<RuntimeError>([&] { file.append(record_number(1)); }), HasSubstr("No space left"));
  EXPECT_THAT(file.records(), IsEmpty());
}

TEST_F(RecordFiles, WritersAtOnceLoseAndDoubleNothing) {
  constexpr int writers = 6;
  constexpr int each = 60;
  std::vector<pid_t> children;
  for (int writer = 0; writer < writers; ++writer) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    RecordFile file(path(), Mode::append);
    // All of them have the even numbers.
    for (int i = 0; i < each; ++i) file.append(record_number(i % 2 == 0 ? i : i + 1000 * (writer + 1)));
    _exit(0);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  const std::vector<std::int64_t> found = rows();
  EXPECT_EQ(found.size(), static_cast<std::size_t>(each / 2 + writers * each / 2));
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), found.size());
  EXPECT_THAT(RecordFile(path(), Mode::read).warnings(), IsEmpty());
}

TEST_F(RecordFiles, AWriterThatIsKilledLosesNothingOfOthers) {
  RecordFile(path(), Mode::append).append(record_number(0));
  std::int64_t number = 1;
  std::size_t known = 1;
  for (int round = 0; round < 30; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      RecordFile file(path(), Mode::append);
      for (std::int64_t i = number;; ++i) file.append(record_number(i));
    }
    // A busy machine needs longer for the first record.
    const int longer = known == 1 ? 10'000 * round : 0;
    usleep(static_cast<useconds_t>(500 + 700 * (round % 9) + longer));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::vector<std::int64_t> found = rows();
    ASSERT_GE(found.size(), known);
    known = found.size();
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], static_cast<std::int64_t>(i));
    number = static_cast<std::int64_t>(known);
  }
  EXPECT_GT(known, 1U);
}

}  // namespace
}  // namespace weft
