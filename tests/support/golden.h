// Texts kept in tests/golden, compared whole. WEFT_UPDATE_GOLDEN=1 rewrites them; read the diff.
#pragma once

#include <string>

namespace weft::test {

/// Fails the running test unless `text` equals tests/golden/<name>.
void expect_golden(const std::string& name, const std::string& text);

}  // namespace weft::test
