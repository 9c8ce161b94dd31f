/** Starts an instance of the kernel: sets the addresses of its memory (memory.ts) and writes its byte classes (path.ts). It holds no state. */

import { ABI_VERSION } from './abi'
import { placeMemory } from './memory'
import { writeClasses } from './path'

/**
 * Called by the host once for each instance, before anything else; `quotaAttach` (window.ts) sets the addresses of QUOTA.
 * @returns ABI_VERSION, for the host to compare with its own.
 */
export function init(arenaBase: usize, bucketBase: usize, slots: u32): i32 {
  placeMemory(arenaBase, bucketBase, slots)
  writeClasses()
  return ABI_VERSION
}
