/* Prepares malloc's memory before a process is forked many times. */
#ifndef PK_CORE_HEAP_H
#define PK_CORE_HEAP_H

#include <stddef.h>

/* Small free pieces lie between data that never changes: a child that uses such
 * a piece writes to a page that all children could have shared, and needs 4 KB
 * for a hundred bytes. So all small pieces are allocated permanently, and
 * children get new memory, close together. Whole free pages are returned to the
 * system, and larger pieces stay free.
 *
 * Returns the bytes allocated. 0 unless malloc is glibc's, 2.33 or later. */
size_t pk_heap_fill(void);

#endif
