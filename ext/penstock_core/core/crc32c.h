/* CRC-32C (Castagnoli), as Kafka's record batches use it. Small rather than fast:
 * what it protects here has at most 4,096 bytes. */
#ifndef PK_CORE_CRC32C_H
#define PK_CORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum over more bytes; begin with 0. */
uint32_t pk_crc32c(uint32_t crc, const void *bytes, size_t size);

#endif
