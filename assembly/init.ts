/** The start of the kernel: where its memory lies, and the tables that are computed once. It holds no state. */

import { ABI_VERSION } from './abi'
import { placeMemory } from './memory'
import { writeClasses } from './path'

/**
 * Called once by the host, before anything else; window.ts has its own init for QUOTA.
 * @returns ABI_VERSION, for the host to compare with its own.
 */
export function init(arenaBase: usize, bucketBase: usize, slots: u32): i32 {
  placeMemory(arenaBase, bucketBase, slots)
  writeClasses()
  return ABI_VERSION
}
