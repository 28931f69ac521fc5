/* CRC-32C (Castagnoli), as in Kafka's record batches. Optimized for size, not
 * speed: it protects at most 4,096 bytes here. */
#ifndef PK_CORE_CRC32C_H
#define PK_CORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum with more bytes; start with 0. */
uint32_t pk_crc32c(uint32_t crc, const void *bytes, size_t size);

#endif
