/**
 * The memory map, and the addresses of this thread's arena and of the buckets.
 *
 * Threads that share a memory instantiate the kernel on it, each with a separate arena. The host lays a memory out
 * (`src/data-plane/kernel/layout.ts`) and passes these addresses at the start; `quotaAttach` and `useTable` pass the others. The kernel has
 * no data segment and no heap, so a new instance does not overwrite the counts of the others.
 *
 *        0 ┌──────────────────────────────────────────────┐
 *          │ unused: an address of 0 is an error          │
 *     1024 ├──────────────────────────────────────────────┤ ─┐
 *          │ BUCKETS   bucketCount × 64 B                 │  │  of the threads that share
 *          ├────────────────────────────────── 64 KiB ────┤  │  the memory
 *          │ QUOTA     laid out by the host (region.ts)   │  │
 *          ├────────────────────────────────── 64 KiB ────┤ ─┘
 *          │ ARENA 0   RESULT │ … │ INPUT │ OUTPUT        │ ─┐
 *          │ TABLE 0A  a route table, read only           │  │  of thread 0 only
 *          │ TABLE 0B  the next one                       │  │
 *          ├────────────────────────────────── 64 KiB ────┤ ─┘
 *          │ ARENA 1 …                                    │
 *          └──────────────────────────────────────────────┘
 *
 * Beyond INPUT, OUTPUT and the tables at least 64 readable bytes follow: vector loads may read past the end.
 */

/** Base of this thread's arena (abi.ts: ARENA_…, RESULT_…). */
export let arena: usize = 0
/** First bucket slot. */
export let buckets: usize = 0
/** Number of slots; a slot number at or above it is refused. */
export let bucketCount: u32 = 0

/** Called once, by `init`. */
export function placeMemory(arenaBase: usize, bucketBase: usize, slots: u32): void {
  arena = arenaBase
  buckets = bucketBase
  bucketCount = slots
}
