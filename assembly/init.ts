/** Starts an instance of the kernel: places its memory, writes its byte classes and returns the version of the ABI. */

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
