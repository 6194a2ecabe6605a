/* base/crc32c.h: the checksum of stored bytes (Castagnoli's polynomial, as in iSCSI, ext4, S3's x-amz-checksum-crc32c).
 *
 * For         objects, state files, registers: whatever is written to be read again.
 * Shape       The checksum of nothing is 0; crc32c_extend goes on with more bytes: extend(extend(0, a), b) is that of a and b together.
 * Cost        The processor's own instruction: about eight bytes in three cycles.
 */
#ifndef SPATE_BASE_CRC32C_H
#define SPATE_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c_extend(uint32_t crc, const void *bytes, size_t length);

#endif
