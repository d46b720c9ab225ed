// Records for other tools.
#pragma once

#include <weft/search/records/record_file.h>

#include <string>
#include <string_view>
#include <vector>

namespace weft {

enum class RecordForm : std::uint8_t {
  t4,            ///< the T4 results schema 1.0.0: all records
  kernel_tuner,  ///< a cache of Kernel Tuner, schema 1.1.0: those of one problem; times are milliseconds
  csv,           ///< a line a record, a column a knob
};
/// UserError that lists them when there is none of that name: "t4", "kernel-tuner", "csv".
RecordForm record_form_named(std::string_view name);

/// The whole file. UserError where the form holds one problem and the records have several, or none.
std::string exported(const std::vector<StoredRecord>& records, RecordForm form);

}  // namespace weft
