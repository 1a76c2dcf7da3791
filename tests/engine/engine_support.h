/* What the suites of whole-engine promises share: models of the tree, requests of any length made
 * from a seed, and short ways through the public interface that fail the running test. */
#ifndef CLEF_TEST_ENGINE_SUPPORT_H
#define CLEF_TEST_ENGINE_SUPPORT_H

#include "support.h"

#include "engine/handles.h"

/* Built with the address sanitizer. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_WATCHED 1
#endif
#endif
#ifndef IS_WATCHED
#define IS_WATCHED 0
#endif

/* Directories. */
const char *random_model(void);  /* random weights, awkward sizes */
const char *trained_model(void); /* clef-tiny */

/* level NULL: the best there is; threads 0: all. */
clef_runtime *open_runtime(uint32_t threads, const char *level);
/* Computed in fp32. */
clef_model *open_model(clef_runtime *runtime, const char *directory);
/* The same in one call; the model keeps the runtime. */
clef_model *open_model_precise(const char *directory, clef_precision precision, uint32_t threads,
                               const char *level);
clef_model *open_model_with(const char *directory, uint32_t threads, const char *level);
clef_session *open_session(clef_model *model, uint32_t rows_per_step);
clef_record *encode_body(clef_model *model, clef_text body);
clef_answer *decide(clef_session *session, clef_record *record);

/* A request whose state has `words` words; texts, questions and their number follow the seed. Owned
 * by the caller: clef_release. */
clef_text make_body(uint64_t seed, size_t words);
clef_record *encode_made(clef_model *model, uint64_t seed, size_t words);

/* A folder of its own with copies of a model's files, and its end. The path is owned by the caller:
 * drop_copy. */
char *copy_model(const char *directory);
/* The same, with weights quantised by a recipe ("int8", "int4"). */
char *quantise_model(const char *directory, const char *recipe);
void drop_copy(char *directory);
/* Path of a file of a copy, in a static buffer (one at a time). */
const char *path_in(const char *directory, const char *name);

/* Numbers that follow a seed: the next one, and a shuffled order of 0 … count - 1. */
uint64_t next_number(uint64_t *seed);
void shuffle(size_t *order, size_t count, uint64_t *seed);

/* Calls test(level) for every level that this machine has and that brings fp32 kernels of its own;
 * under a sanitizer, which looks for other faults, for the highest alone. */
void for_each_level(void (*test)(const char *level));
/* Name of the highest of them. */
const char *best_level(void);

/* Logits as a copy: clef_release. */
float *copy_logits(const clef_answer *answer);
/* Fails, naming what was compared, when a bit differs. */
void assert_equal_logits(const clef_answer *answer, const float *logits, const char *what);

/* Submits a record; *answer, NULL until then, is there when it has been answered. */
void submit(clef_session *session, clef_record *record, clef_answer **answer);
/* Steps until nothing is pending. */
void finish(clef_session *session);
/* Submits records[order[i]] one behind the other and finishes. answers[i] belongs to records[i]. */
void decide_together(clef_session *session, clef_record **records, const size_t *order,
                     size_t count, clef_answer **answers);

#endif
