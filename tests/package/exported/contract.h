/* The simulated driver, and expectations. */
#ifndef CONTRACT_H
#define CONTRACT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  int (*allocate)(uint64_t* address, size_t bytes);
  int (*release)(uint64_t address);
  int (*upload)(uint64_t target, const void* source, size_t bytes);
  int (*download)(void* target, uint64_t source, size_t bytes);
  int (*calls)(const char* name);
  void (*capture)(void* stream, uint64_t number); /* 0: no more */
  void (*destroy_graph)(uint64_t number);
  uint64_t (*cleared)(void); /* what was filled last */
} driver;
extern driver device;

void expect(const char* what, long long wanted, long long found);
/* The text has to hold the word. */
void expect_word(const char* what, const char* word, const char* text);
/* Device memory with these bytes. */
uint64_t on_device(const void* data, size_t bytes);
float* numbers(size_t count, unsigned seed);
/* Device calls that a launch must not make. */
int forbidden_calls(void);

/* contract_counters.c */
void own_counters(const void* weights, size_t bytes);

/* contract_weights.c */
void check_packing(const void* weights, size_t bytes);

#endif
