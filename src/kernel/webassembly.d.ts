/** The part of the WebAssembly JavaScript interface that this room calls: Node's types leave it to `lib.dom`, which we do not load. */

declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number; maximum: number; shared: true })
    /** Shared for memories made here. */
    readonly buffer: SharedArrayBuffer
  }

  class Module {
    constructor(bytes: Uint8Array)
  }

  class Instance {
    constructor(module: Module, imports: { readonly env: { readonly memory: Memory } })
    readonly exports: { readonly [name: string]: unknown }
  }
}
