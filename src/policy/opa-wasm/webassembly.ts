/** The part of the WebAssembly JavaScript interface that this folder uses, with types. */

/** Opaque: a compiled module. */
export type WasmModule = object & { readonly wasmModule?: never }

export interface WasmMemory {
  readonly buffer: ArrayBuffer
}

interface WasmInterface {
  compile(bytes: Uint8Array): Promise<WasmModule>
  readonly Module: { exports(module: WasmModule): readonly { readonly name: string }[] }
  readonly LinkError: new () => Error
}

export const { compile, Module, LinkError } = (
  globalThis as unknown as { readonly WebAssembly: WasmInterface }
).WebAssembly
