// Trials of a database as the predictor sees them.
#pragma once

#include <weft/search/model/timing_table.h>
#include <weft/search/records/records.h>

#include <span>
#include <string>

namespace weft {

/// The numbers of a record's problem. Of a convolution the pixels of the images are taken for those of the
/// output. UserError for a record without M, K and N, or with an element type or a format that there is not.
ProblemSummary summary_of(const Record& record);
/// The device that measured the record; what is missing is that of its target.
DeviceNumbers device_of(const Record& record);

/// How the records of a file were measured: the one that comes first in gpu, cpu, sim, model.
std::string best_measure(std::span<const Record> records);

/// The right trials of one kind of measurement, a problem for each Record::packed_key(), in the order in
/// which they come; of repeated trials the fastest. Problems without a right trial are left out. The
/// trial whose strategy is "recipe" is of the problem's usual configuration.
TimingTable timing_table(std::span<const Record> records, const std::string& measure);

}  // namespace weft
