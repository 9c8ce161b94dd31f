/** Names of keys in Redis. All keys of a script share a hash tag, so that a cluster keeps them on one node. */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { QuotaKey } from '../quota.ts'

/** Parts that the consumers are spread over; each is recovered by itself, and may live on a node of its own. */
export const BUCKETS = 8
/** Longest name that the table lists whole. */
const MAX_NAME_BYTES = 127

export interface Keys {
  bucketOf(name: string): number
  consumer(name: string): string
  tool(name: string, tool: string): string
  epoch(bucket: number): string
  names(bucket: number): string
  /** Channel on which resets are told. */
  readonly channel: string
}

export function keysUnder(prefix: string): Keys {
  const bucketOf = (name: string) => crc32(name) % BUCKETS
  const tag = (bucket: number) => `${prefix}:{${prefix}:${bucket}}`
  return {
    bucketOf,
    consumer: name => `${tag(bucketOf(name))}:c:${name}`,
    tool: (name, tool) => `${tag(bucketOf(name))}:t:${name}\0${tool}`,
    epoch: bucket => `${tag(bucket)}:epoch`,
    names: bucket => `${tag(bucket)}:names`,
    channel: `${prefix}:reset`,
  }
}

/** A prepared key has a short name already. */
export function shortKey(key: string): string
export function shortKey(key: string | QuotaKey): string | QuotaKey
export function shortKey(key: string | QuotaKey): string | QuotaKey {
  return typeof key === 'string' ? shortName(key) : key
}

/** The name a consumer goes by in Redis and in listings: its own, or a digest of one that is too long to be listed. */
export function shortName(name: string): string {
  if (name.length * 3 <= MAX_NAME_BYTES || Buffer.byteLength(name) <= MAX_NAME_BYTES) return name
  return `sha256:${createHash('sha256').update(name).digest('hex')}`
}
