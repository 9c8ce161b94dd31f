/** Names of keys in Redis, the buckets of consumers, and their short names. */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { MAX_NAME_BYTES, type QuotaKey } from '../quota.ts'

/** Parts that the consumers are spread over; each recovers separately, and may be on a separate node. */
export const BUCKETS = 8

export interface Keys {
  bucketOf(name: string): number
  consumer(name: string): string
  tool(name: string, tool: string): string
  epoch(bucket: number): string
  names(bucket: number): string
  /** Channel on which resets are published. */
  readonly channel: string
}

/** Keys of one bucket share a hash tag, so that a cluster keeps those of a script on one node. */
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

/** A prepared key already has a short name. */
export function shortKey(key: string): string
export function shortKey(key: string | QuotaKey): string | QuotaKey
export function shortKey(key: string | QuotaKey): string | QuotaKey {
  return typeof key === 'string' ? shortName(key) : key
}

/** The name of a consumer in Redis and in listings; one that is too long is replaced by its digest. */
export function shortName(name: string): string {
  if (name.length * 3 <= MAX_NAME_BYTES || Buffer.byteLength(name) <= MAX_NAME_BYTES) return name
  return `sha256:${createHash('sha256').update(name).digest('hex')}`
}
