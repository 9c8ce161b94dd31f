/** Makes the kernel of one thread: on a memory of its own, or on the process's. */
import type { Kernel } from './kernel.ts'
import { createMemory, type LayoutOptions, planLayout, type SharedMemory } from './layout.ts'
import { TwinKernel } from './twin.ts'
import { WasmKernel } from './wasm.ts'

export interface KernelOptions extends LayoutOptions {
  /** Memory of the process, from the thread that made it; absent: a new one, planned from the other options. */
  readonly shared?: SharedMemory
  /** Which arena is this thread's; each thread its own. Default 0. */
  readonly thread?: number
}

/** A kernel, and what other threads need to run one on the same memory. */
export interface KernelHandle<K extends Kernel> {
  readonly kernel: K
  readonly shared: SharedMemory
}

/** @throws Error when the kernel is not built, RangeError when the options do not fit. */
export function createKernel(options: KernelOptions = {}): KernelHandle<WasmKernel> {
  const shared = options.shared ?? newMemory(options)
  return { kernel: new WasmKernel(shared, options.thread ?? 0), shared }
}

/** The same in plain JavaScript. */
export function createTwin(options: KernelOptions = {}): KernelHandle<TwinKernel> {
  const shared = options.shared ?? newMemory(options)
  return { kernel: new TwinKernel(shared), shared }
}

function newMemory(options: LayoutOptions): SharedMemory {
  const layout = planLayout(options)
  return { memory: createMemory(layout), layout }
}
