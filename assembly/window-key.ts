/**
 * The hash of a quota key: SipHash-1-3 with 128 bits of result and a secret seed, so that nobody can make two
 * consumers share a counter. It reads the bytes it is given and nothing else.
 */
import { HEAD_SEED } from './window-abi'

/** Result of the last `hashKey` of this instance; both never 0 at once. */
export let keyLow: u64 = 0
export let keyHigh: u64 = 0

let v0: u64 = 0
let v1: u64 = 0
let v2: u64 = 0
let v3: u64 = 0

// @ts-ignore: decorator
@inline
function round(): void {
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
}

/**
 * Hashes `length` bytes at `at` (J.-P. Aumasson, D. J. Bernstein: "SipHash", 2012; 128-bit variant of the reference code).
 * Up to 7 bytes beyond the end are read and do not count.
 */
export function hashKey(base: usize, at: usize, length: u32): void {
  const k0 = load<u64>(base, HEAD_SEED)
  const k1 = load<u64>(base, HEAD_SEED + 8)
  v0 = k0 ^ 0x736f6d6570736575
  v1 = k1 ^ 0x646f72616e646f6d ^ 0xee
  v2 = k0 ^ 0x6c7967656e657261
  v3 = k1 ^ 0x7465646279746573
  const end = at + (length & ~7)
  while (at < end) {
    const word = load<u64>(at)
    v3 ^= word
    round()
    v0 ^= word
    at += 8
  }
  const left: u64 = length & 7
  const last = (load<u64>(at) & (((<u64>1) << (left << 3)) - 1)) | ((<u64>length) << 56)
  v3 ^= last
  round()
  v0 ^= last
  v2 ^= 0xee
  round()
  round()
  round()
  keyLow = v0 ^ v1 ^ v2 ^ v3
  v1 ^= 0xdd
  round()
  round()
  round()
  keyHigh = v0 ^ v1 ^ v2 ^ v3
  if ((keyLow | keyHigh) == 0) keyLow = 1
}
