/* A file's bytes, which the caller frees; a file that cannot be read ends the program. */
#ifndef READ_FILE_H
#define READ_FILE_H

#include <stdio.h>
#include <stdlib.h>

static void* read_file(const char* path, size_t* bytes) {
  FILE* file = fopen(path, "rb");
  void* data;
  if (file == NULL) exit(2);
  fseek(file, 0, SEEK_END);
  *bytes = (size_t)ftell(file);
  rewind(file);
  data = malloc(*bytes);
  if (data == NULL || fread(data, 1, *bytes, file) != *bytes) exit(2);
  fclose(file);
  return data;
}

#endif
