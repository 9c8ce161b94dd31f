/** Creates the kernel of a thread, on given shared memory or on a new one. `wasm.ts` implements it. */
import { type LayoutOptions, type SharedMemory, shareMemory } from './layout.ts'
import { WasmKernel } from './wasm.ts'

export interface KernelOptions extends LayoutOptions {
  /** Memory of the process, from the thread that created it; absent: a new one, planned from the other options. */
  readonly shared?: SharedMemory
  /** Index of this thread's arena; no two threads may share one. Default 0. */
  readonly thread?: number
}

/** A kernel, and what other threads need to run one on the same memory. */
export interface KernelHandle {
  readonly kernel: WasmKernel
  readonly shared: SharedMemory
}

/** @throws Error when the kernel is not built or has another ABI version, RangeError when the options do not fit. */
export function createKernel(options: KernelOptions = {}): KernelHandle {
  const shared = options.shared ?? shareMemory(options)
  return { kernel: new WasmKernel(shared, options.thread ?? 0), shared }
}
