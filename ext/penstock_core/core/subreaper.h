/* Adopts children that this process did not fork itself. */
#ifndef PK_CORE_SUBREAPER_H
#define PK_CORE_SUBREAPER_H

#include <sys/types.h>

/* From now on descendants of this process whose parents end become its
 * children, and have to be waited for. Its own children don't inherit the
 * setting. Returns 0 or an errno: ENOSYS where it isn't supported (Linux
 * supports it). */
int pk_subreaper_become(void);

/* A child that has ended and hasn't been waited for, 0 if there is none.
 * Doesn't wait for it. */
pid_t pk_subreaper_ended(void);

#endif
