/* functions/digest_x86.h: SHA-256 by the instructions that most x86-64 processors have for it.
 *
 * For         digest.c; some twenty times as fast as its loop, which counts where state and artifacts are named by their content.
 */
#ifndef SPATE_FUNCTIONS_DIGEST_X86_H
#define SPATE_FUNCTIONS_DIGEST_X86_H

#include <stdbool.h>
#include <stdint.h>

bool digest_x86_has_sha256(void);
/* One block of 64 bytes. */
void digest_x86_sha256(uint32_t state[8], const uint8_t *block, const uint32_t constants[64]);

#endif
