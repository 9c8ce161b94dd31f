/** The part of the WebAssembly JavaScript interface that this folder calls: Node's types leave it to `lib.dom`. Types and one cast only. */

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
