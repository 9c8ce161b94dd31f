/** Goes over many items without holding the event loop: a few at a time, as long as a slice may last. It knows no stream. */

/** The loop must never be held over 10 ms (targets); a slice ends long before, because what follows it holds the loop too. */
const SLICE_MS = 3
/** The clock is read once for so many items. */
const ITEMS_PER_LOOK = 16

/**
 * Calls `visit` with every item.
 * @param visit may answer later; the next item waits for it
 */
export async function inSlices<T>(
  items: Iterable<T>,
  visit: (item: T) => void | Promise<void>,
): Promise<void> {
  let startedAt = performance.now()
  let visited = 0
  for (const item of items) {
    const later = visit(item)
    if (later instanceof Promise) await later
    if (++visited % ITEMS_PER_LOOK !== 0 || performance.now() - startedAt < SLICE_MS) continue
    await new Promise(resolve => setImmediate(resolve))
    startedAt = performance.now()
  }
}
