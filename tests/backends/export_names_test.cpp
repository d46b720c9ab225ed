// Names and licences of packages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "backends/exported.h"

namespace weft {
namespace {

using namespace exported;
using testing::HasSubstr;

TEST(Export, NamesAreIdentifiersInEveryLanguage) {
  const Kernel kernel = product(Extent::any("N"));
  for (const char* name : {"", "9lives", "a-b", "int", "lambda", "_x", "a b", "größe", "a__b", "x\ny",
                           "co_await", "restrict", "typeof", "xor_eq"})
    EXPECT_THAT(refusal({{kernel}}, named(name)), HasSubstr("no identifier")) << name;
  EXPECT_THAT(refusal({{kernel}}, named(std::string(65, 'a'))), HasSubstr("at most 64"));
}

TEST(Export, NamesThatHeadersHaveAreRefusedWithTheHeader) {
  const Kernel kernel = product(Extent::any("N"));
  const std::map<std::string, std::string> owners{{"NULL", "a name of <stdio.h>"},
                                                  {"stdin", "a name of <stdio.h>"},
                                                  {"EOF", "a name of <stdio.h>"},
                                                  {"printf", "a name of <stdio.h>"},
                                                  {"INFINITY", "a name of <math.h>"},
                                                  {"sqrt", "a name of <math.h>"},
                                                  {"errno", "a name of <errno.h>"},
                                                  {"ENOENT", "a name of <errno.h>"},
                                                  {"assert", "a name of <assert.h>"},
                                                  {"signal", "a name of <signal.h>"},
                                                  {"int8_t", "a name of <stdint.h>"},
                                                  {"tm", "a name of <time.h>"},
                                                  {"I", "a name of <complex.h>"},
                                                  {"read", "a name of <unistd.h>"},
                                                  {"index", "a name of <string.h>"},
                                                  {"dlopen", "a name of <dlfcn.h>"},
                                                  {"string", "the header <string.h>"},
                                                  {"stdint", "the header <stdint.h>"},
                                                  {"unix", "a macro that compilers"},
                                                  {"linux", "a macro that compilers"},
                                                  {"main", "CUDA C++"},
                                                  {"blockIdx", "CUDA C++"},
                                                  {"dim3", "CUDA C++"},
                                                  {"threadIdx", "CUDA C++"},
                                                  {"sem", "it has sem_open"},
                                                  {"m", "the library libm"},
                                                  {"test", "CMake"},
                                                  {"pathlib", "a module of Python"},
                                                  {"torch", "PyTorch"}};
  for (const auto& [name, owner] : owners) {
    const std::string text = refusal({{kernel}}, named(name));
    EXPECT_THAT(text, HasSubstr(owner)) << name;
    // What is proposed is taken.
    const std::string proposed = text.substr(text.rfind(' ') + 1);
    EXPECT_THAT(proposed, HasSubstr(name));
    EXPECT_NO_THROW(check_export_options(named(proposed))) << proposed;
  }
  for (const char* name : {"ffn", "FFN_up", "plan", "weights", "handle", "kernel", "image", "layer4", "K"})
    EXPECT_NO_THROW(check_export_options(named(name))) << name;
}

TEST(Export, ALicenceIsAnSpdxExpression) {
  const Kernel kernel = product(Extent::any("N"));
  for (const char* spdx : {"", "*/ evil", "MIT\n#error evil", "MIT\\", "a\"b",
                           "MIT ?"
                           "?/",
                           "größe", " MIT", "@NAME@", "`rm`", "$ENV{HOME}"}) {
    ExportOptions options = named("layer");
    options.spdx = spdx;
    EXPECT_THAT(refusal({{kernel}}, options), HasSubstr("no SPDX expression")) << spdx;
  }
  for (const char* spdx : {"MIT", "Apache-2.0 OR (MIT AND GPL-2.0+)", "DocumentRef-a:LicenseRef-b"}) {
    ExportOptions options = named("layer");
    options.spdx = spdx;
    EXPECT_NO_THROW(check_export_options(options)) << spdx;
  }
}

}  // namespace
}  // namespace weft
