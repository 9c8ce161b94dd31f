/** The start of the kernel: the addresses of its memory, and tables that are computed once. It holds no state. */

import { ABI_VERSION } from './abi'
import { placeMemory } from './memory'
import { writeClasses } from './path'

/**
 * Called once by the host, before anything else; `quotaAttach` (window.ts) does the same for QUOTA.
 * @returns ABI_VERSION, for the host to compare with its own.
 */
export function init(arenaBase: usize, bucketBase: usize, slots: u32): i32 {
  placeMemory(arenaBase, bucketBase, slots)
  writeClasses()
  return ABI_VERSION
}
