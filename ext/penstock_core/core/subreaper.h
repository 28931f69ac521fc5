/* Children that a process did not fork itself. */
#ifndef PK_CORE_SUBREAPER_H
#define PK_CORE_SUBREAPER_H

#include <sys/types.h>

/* From now on processes below this one, whose parents end, become its children, to
 * be waited for. Its own children don't inherit that. 0, or an errno: ENOSYS where
 * there is no such thing (Linux has it). */
int pk_subreaper_become(void);

/* A child that has ended and that nobody has waited for, 0 when there is none. It
 * is only looked at. */
pid_t pk_subreaper_ended(void);

#endif
