// A file of records that several tuners write at once, and that a killed one leaves whole.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/search/records/records.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace weft {

/// Whether a text is, as far as its beginning tells, that of a file of trials.
bool is_database(std::string_view text);

/// A record and where it stands.
struct StoredRecord {
  Record record;
  std::size_t line = 0;  ///< from 1; the header is one, too
};

/// Reading takes a shared lock of the file, appending the exclusive one; what is appended is one write().
/// What stands behind the last end of a line is the rest of a writer that was killed: it is passed over with
/// a warning, and the next append mends it: a record that lacks its end alone gets one, anything else is
/// moved to the end of `<file>.cut-off`.
class RecordFile {
 public:
  enum class Mode : std::uint8_t {
    read,    ///< the file must be there
    append,  ///< it is made where it is not
  };
  /// Reads what is there. UserError when there is no file to read, when it is another kind of file, or a
  /// database of another version; RuntimeError when the system cannot open or read it.
  RecordFile(std::string path, Mode mode, CallPlace place = {});
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<StoredRecord>& records() const { return records_; }
  /// Lines that could not be read, each once: what is wrong, "t.jsonl:17, us.median", what was found and what
  /// is accepted.
  const std::vector<std::string>& warnings() const { return warnings_; }
  bool has(const std::string& key) const { return keys_.count(key) > 0; }

  /// Reads what others have appended since.
  void refresh();
  /// Appends the record, with an id and a time where it has none, unless one of its key is there; false then.
  /// Where it cannot be written, errors as refuse_path(): the file is then as it was. UserError when the file
  /// has records of another architecture and `any_architecture` is false.
  bool append(Record record, bool any_architecture = false);
  /// Appends those whose key is not there, all at once or, where one is refused or cannot be written, none of
  /// them. Returns how many it appended. Errors as append().
  std::size_t append_all(std::vector<Record> records, bool any_architecture = false);

 private:
  void open_file(Mode mode);
  void read_new();
  void take_line(const std::string& line);
  void check_header(const std::string& line);
  void check_architecture(const Record& record, const Record& first) const;
  std::string mend_end(std::size_t size);
  void write_whole(const std::string& text, std::size_t size) const;

  std::string path_;
  int descriptor_ = -1;
  bool regular_ = false;
  std::size_t consumed_ = 0;  ///< bytes, up to the end of a line
  std::size_t lines_ = 0;
  std::string rest_;             ///< what stood behind the last end of a line when it was last read
  std::size_t warned_rest_ = 0;  ///< where the rest of a killed writer was warned of, plus one
  std::vector<StoredRecord> records_;
  std::set<std::string> keys_;
  std::vector<std::string> warnings_;
};

}  // namespace weft
