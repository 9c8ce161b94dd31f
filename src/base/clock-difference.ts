/** The difference between the clock of this process and one that was read elsewhere meanwhile. */

interface Reading {
  /** Clock of this process, before and after the other clock was read; Unix ms. */
  readonly sentAtMs: number
  readonly receivedAtMs: number
  /** What the other clock showed: between these two. */
  readonly earliestMs: number
  readonly latestMs: number
}

/** @returns by how many ms the clock of this process is ahead at least; negative: behind; 0: they may agree */
export function clockAheadMs({ sentAtMs, receivedAtMs, earliestMs, latestMs }: Reading): number {
  if (sentAtMs > latestMs) return sentAtMs - latestMs
  return Math.min(receivedAtMs - earliestMs, 0)
}
