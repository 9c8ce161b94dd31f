/** A part of the WebAssembly JavaScript interface, which Node's types leave to `lib.dom`; `policy/opa-wasm` has separate types. */

declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number; maximum?: number; shared?: boolean })
    /** A SharedArrayBuffer for memories made with `shared`. */
    readonly buffer: SharedArrayBuffer
    grow(pages: number): number
  }

  class Module {
    constructor(bytes: Uint8Array)
    static exports(module: Module): { readonly name: string; readonly kind: string }[]
    static imports(
      module: Module,
    ): { readonly module: string; readonly name: string; readonly kind: string }[]
  }

  class Instance {
    constructor(module: Module, imports?: Record<string, Record<string, unknown>>)
    readonly exports: { readonly [name: string]: unknown }
  }

  class CompileError extends Error {}
  class LinkError extends Error {}
  class RuntimeError extends Error {}

  function compile(bytes: Uint8Array): Promise<Module>
}
