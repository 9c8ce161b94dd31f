/**
 * The hash of a quota key (SipHash-1-3, 128 bits, with a secret seed against chosen collisions), and the key of a tool's bucket, from those of
 * tool and consumer. It looks up no slot.
 */
import { HASHED, HEAD_SEED } from './window-abi'

/** Result of the last `hashKey` of this instance; both never 0 at once. */
export let keyLow: u64 = 0
export let keyHigh: u64 = 0

/** Sets `keyLow` and `keyHigh` from a key given as bytes (at `bytes` of the scratch area) or as a hash (at `hash`). */
export function useKey(base: usize, scratch: usize, length: i32, bytes: usize, hash: usize): void {
  if (length != HASHED) return hashKey(base, scratch + bytes, length)
  keyLow = load<u64>(scratch + hash)
  keyHigh = load<u64>(scratch + hash, 8)
}

/** Half of a bucket's key, from the same half of a tool's and a consumer's. Both are secret, so sums do not collide more often than they do. */
// @ts-ignore: decorator
@inline
export function ofTool(tool: u64, consumer: u64): u64 {
  return tool + rotl(consumer, 32)
}

/** Rounds after the last word, for each half of the result. */
const FINAL_ROUNDS: u32 = 3

/**
 * Hashes `length` bytes at `at` (J.-P. Aumasson, D. J. Bernstein: "SipHash", 2012; 128-bit variant of the reference code).
 * Up to 8 bytes beyond the end are read and ignored. One loop for words and final rounds, with the state in locals:
 * globals would be memory.
 */
export function hashKey(base: usize, at: usize, length: u32): void {
  const k0 = load<u64>(base, HEAD_SEED)
  const k1 = load<u64>(base, HEAD_SEED + 8)
  let v0 = k0 ^ 0x736f6d6570736575
  let v1 = k1 ^ 0x646f72616e646f6d ^ 0xee
  let v2 = k0 ^ 0x6c7967656e657261
  let v3 = k1 ^ 0x7465646279746573
  const words = length >> 3
  const rounds = words + 1 + 2 * FINAL_ROUNDS
  for (let i: u32 = 0; i < rounds; i++) {
    let word: u64 = 0
    if (i < words) {
      word = load<u64>(at + ((<usize>i) << 3))
    } else if (i == words) {
      const kept: u64 = (<u64>length & 7) << 3
      word = (load<u64>(at + ((<usize>i) << 3)) & (((<u64>1) << kept) - 1)) | ((<u64>length) << 56)
    }
    v3 ^= word
    v0 += v1
    v2 += v3
    v1 = rotl(v1, 13) ^ v0
    v3 = rotl(v3, 16) ^ v2
    v0 = rotl(v0, 32)
    v2 += v1
    v0 += v3
    v1 = rotl(v1, 17) ^ v2
    v3 = rotl(v3, 21) ^ v0
    v2 = rotl(v2, 32)
    v0 ^= word
    if (i == words) {
      v2 ^= 0xee
    } else if (i == words + FINAL_ROUNDS) {
      keyLow = v0 ^ v1 ^ v2 ^ v3
      v1 ^= 0xdd
    }
  }
  keyHigh = v0 ^ v1 ^ v2 ^ v3
  if ((keyLow | keyHigh) == 0) keyLow = 1
}
