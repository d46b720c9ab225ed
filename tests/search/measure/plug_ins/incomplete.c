/* A library that has one of the five functions. */
#include <weft/search/measure/contestant_interface.h>

const struct weft_contestant_description* weft_contestant_describe(void) {
  static const struct weft_contestant_description description = {WEFT_CONTESTANT_INTERFACE, "incomplete",
                                                                 NULL, NULL};
  return &description;
}
