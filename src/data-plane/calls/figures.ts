/** Adds a recorded call to figures. It reads no clock. */
import { addCount, type Figures } from '../../model/call-figures.ts'
import { bucketOf } from '../../model/latency-histogram.ts'
import { kindOf } from './call-query.ts'
import type { VisitedCall } from './call-ring.ts'

export function addCall(figures: Figures, { outcome, atMs, durationMs, backendMs }: VisitedCall): void {
  const kind = kindOf(outcome)
  figures.calls++
  figures.lastAtMs = Math.max(figures.lastAtMs, atMs)
  if (kind === 'refused') figures.refused++
  else {
    if (kind === 'failed') figures.failed++
    addCount(figures.latency, bucketOf(durationMs * 1000), 1)
  }
  if (backendMs >= 0) addCount(figures.backend, bucketOf(backendMs * 1000), 1)
}
