/** Counts and latencies of calls, by group: how they are added, and quantiles of latencies. */

import { getOrSet } from '../base/once-per.ts'
import { type BucketCount, quantile } from './latency-histogram.ts'

export interface Figures {
  calls: number
  refused: number
  failed: number
  /** Unix ms; 0 without calls. */
  lastAtMs: number
  /** Bucket of `model/latency-histogram.ts` → calls; refused calls are left out. */
  readonly latency: Map<number, number>
  readonly backend: Map<number, number>
}

export type Groups = Map<string, Figures>

/** Separates the parts of the name of a group; none of them holds it. */
export const SEPARATOR = '\0'

export function noFigures(): Figures {
  return { calls: 0, refused: 0, failed: 0, lastAtMs: 0, latency: new Map(), backend: new Map() }
}

export function addFigures(to: Figures, from: Figures): void {
  to.calls += from.calls
  to.refused += from.refused
  to.failed += from.failed
  to.lastAtMs = Math.max(to.lastAtMs, from.lastAtMs)
  for (const [bucket, calls] of from.latency) addCount(to.latency, bucket, calls)
  for (const [bucket, calls] of from.backend) addCount(to.backend, bucket, calls)
}

export function addGroups(to: Groups, from: Groups): void {
  for (const [name, figures] of from) addFigures(getOrSet(to, name, noFigures), figures)
}

/** The latency of a share of the calls in ms; null without calls. */
export function quantileMs(latency: ReadonlyMap<number, number>, share: number): number | null {
  const counts: BucketCount[] = [...latency]
    .map(([bucket, requests]) => ({ bucket, requests }))
    .sort((a, b) => a.bucket - b.bucket)
  const found = quantile(counts, share)
  return found === undefined ? null : Math.round(found) / 1000
}

export function addCount(counts: Map<number, number>, key: number, calls: number): void {
  counts.set(key, (counts.get(key) ?? 0) + calls)
}
