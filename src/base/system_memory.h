/* Memory as the operating system sees it: what is left for this process, and the most it has held.
 * Questions with an answer for today only; nothing is reserved by asking. */
#ifndef CLEF_BASE_SYSTEM_MEMORY_H
#define CLEF_BASE_SYSTEM_MEMORY_H

#include "base/error.h"

/* Bytes that the machine and this process's control groups leave; UINT64_MAX when nobody says. */
uint64_t clef_system_memory_available(void);

/* What a cache may take when nobody says: that part of the available bytes, or 1 GiB where they are
 * not known. */
uint64_t clef_system_memory_share(unsigned part);

/* Bytes that pages of mapped files may take in all, those in memory today included; UINT64_MAX when
 * nobody says. */
uint64_t clef_system_memory_for_files(void);

/* Bytes that this process has had read from disks so far, its page faults included. */
uint64_t clef_system_bytes_read(void);

/* CLEF_OUT_OF_MEMORY with both numbers when `bytes` of `what` ("the weights of 4 layers") are not
 * available now. */
clef_status clef_system_memory_require(uint64_t bytes, const char *what, clef_error *error);

/* The most bytes of memory that this process has held at once since it started, or since
 * clef_system_memory_restart_peak where the system can forget; mapped files count as far as they
 * are in memory. 0 when nobody says. */
uint64_t clef_system_memory_peak(void);
void clef_system_memory_restart_peak(void);

#endif
