/** Reads how many bytes of bodies and responses the process may hold, by default a part of the memory that its limits leave. */
import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { Reader } from './reader.ts'

const MIB = 1024 * 1024
/** What a process needs beside bodies and responses. */
const BASE_BYTES = 256 * MIB
/** For one response: as many times as `Hold` counts it, so that the longest one always fits. */
const MIN_RESPONSES = 4

/** Bytes; the smallest of the limits of cgroup, resource limits (`RLIMIT_DATA`, `RLIMIT_AS`) and machine. */
export function readMemoryLimit(limits = readOrEmpty('/proc/self/limits')): number {
  const resources = [...limits.matchAll(/^Max (?:data size|address space) +(\d+)/gm)].map(([, bytes]) =>
    Number(bytes),
  )
  // without a limit, the cgroup has one of 2^64
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY, ...resources)
}

/** @param responseMaxBytes of one response of a backend */
export function readHeldBytesMax(
  read: Reader,
  responseMaxBytes: number,
  memoryBytes = readMemoryLimit(),
  heapBytes = getHeapStatistics().heap_size_limit,
): number {
  const least = Math.ceil((MIN_RESPONSES * responseMaxBytes) / MIB) * MIB
  // half of the copies are strings, which the heap of V8 holds
  const free = Math.min((memoryBytes - BASE_BYTES) / 2, heapBytes / 2)
  return read.bytes('HELD_BYTES_MAX', `${Math.floor(Math.max(least, free) / MIB)}MiB`, least)
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
