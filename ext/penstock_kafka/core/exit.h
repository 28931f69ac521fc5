#ifndef PK_EXIT_H
#define PK_EXIT_H

/* Lets a process exit while librdkafka's threads still run: see exit.c. Called
 * once, when the extension is loaded. */
void pk_guard_exit(void);

#endif
