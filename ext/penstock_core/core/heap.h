/* The memory of malloc, before a process is forked into many. */
#ifndef PK_CORE_HEAP_H
#define PK_CORE_HEAP_H

#include <stddef.h>

/* What is free in small pieces lies between things that never change: a child that
 * is given such a piece writes into a page that all children could have had
 * together, and has 4 KB for its hundred bytes. So all small pieces are taken, for
 * good: children get new memory, close together. Whole free pages are given back,
 * and larger pieces stay free.
 *
 * Bytes that were taken. 0 where malloc isn't glibc's, of 2.33 or later. */
size_t pk_heap_fill(void);

#endif
