/** Instantiates the kernel for a thread, declares the calls that this folder makes of it, and computes arena addresses. It makes no call but `init`. */
import { readFileSync } from 'node:fs'
import { instantiateSync } from '@assemblyscript/loader'
import { ABI_VERSION } from './abi.ts'
import type { Layout } from './layout.ts'

/** Beside `src/` and beside `dist/`. */
const FILE = new URL('../../../build/kernel.wasm', import.meta.url)

/** The calls of assembly/index.ts that this folder makes. Those of window.ts are on the same object; `quota/memory` declares them. */
export interface KernelExports {
  init(arenaBase: number, bucketBase: number, slots: number): number
  normalize(length: number): number
  match(method: number): number
  admit(length: number, method: number): number
  useTable(base: number): void
  segmentHash(at: number, size: number): number
  takeTokens(slot: number, tokens: number, nowMs: number): number
  tokensLeft(slot: number, nowMs: number): number
}

let compiled: WebAssembly.Module | undefined

/**
 * Instantiates the kernel on a memory that other threads may be running on already.
 * @param thread index of this instance's arena; no two threads may share one.
 * @throws Error when the kernel is missing or of another ABI; RangeError when the layout has no such arena.
 */
export function instantiate(memory: WebAssembly.Memory, layout: Layout, thread: number): KernelExports {
  if (!Number.isInteger(thread) || thread < 0 || thread >= layout.threads)
    throw new RangeError(
      `thread ${thread} has no arena; the layout was planned for ${layout.threads} threads`,
    )
  compiled ??= new WebAssembly.Module(read())
  const { exports } = instantiateSync(compiled, { env: { memory } })
  const calls = exports as unknown as KernelExports
  const version = calls.init(arenaOf(layout, thread), layout.bucketBase, layout.bucketCount)
  if (version !== ABI_VERSION)
    throw new Error(
      `${FILE.pathname} has ABI version ${version}, but this version of toolgate needs ${ABI_VERSION}; run npm run build:kernel`,
    )
  return calls
}

/** Base of a thread's arena. */
export function arenaOf(layout: Layout, thread: number): number {
  return layout.arenaBase + thread * layout.arenaStride
}

function read(): Uint8Array {
  try {
    return readFileSync(FILE)
  } catch (cause) {
    throw new Error(`the kernel is not built: ${FILE.pathname}; run npm run build:kernel`, { cause })
  }
}
