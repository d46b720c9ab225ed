// A UserError whose text holds all the phrases.
#pragma once

#include <gtest/gtest.h>
#include <weft/dsl/errors.h>

#include <initializer_list>
#include <string>

namespace weft::testing {

template <class Action>
void expect_refused(Action&& action, std::initializer_list<const char*> phrases) {
  try {
    action();
  } catch (const UserError& error) {
    for (const char* phrase : phrases) {
      EXPECT_NE(std::string(error.what()).find(phrase), std::string::npos) << phrase << "\n--- in\n"
                                                                           << error.what();
    }
    return;
  }
  ADD_FAILURE() << "nothing was refused; expected: " << *phrases.begin();
}

}  // namespace weft::testing
