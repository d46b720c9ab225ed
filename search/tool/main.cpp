#include <weft/search/tool/command_line.h>

int main(int argc, char** argv) {
  return weft::command_line(argc, argv);
}
