/** A WebAssembly instance of a compiled policy, which evaluates inputs in bounded memory. */
import { createRequire } from 'node:module'
import { LinkError, Module, type WasmMemory, type WasmModule } from './webassembly.ts'

// by require: the package's ES module lacks `loadPolicySync`, though its types name it
const { loadPolicySync } = createRequire(import.meta.url)('@open-policy-agent/opa-wasm') as {
  loadPolicySync(module: WasmModule, memory: { initial: number; maximum: number }): LoadedPolicy
}

/** What opa-wasm documents of a loaded policy. */
interface LoadedPolicy {
  readonly mem: WasmMemory
  readonly wasmInstance: { readonly exports: unknown }
  readonly entrypoints: { readonly [path: string]: number }
  readonly dataAddr: number
  readonly dataHeapPtr: number
  setData(data: unknown): void
}

/** The part of OPA's WebAssembly ABI 1.2 that is used (OPA documentation, "Wasm", ABI). */
interface OpaExports {
  readonly opa_eval: (
    reserved: 0,
    entrypoint: number,
    dataAddr: number,
    inputAddr: number,
    inputLength: number,
    heapPtr: number,
    format: 0,
  ) => number
  readonly opa_malloc: (size: number) => number
  readonly opa_heap_ptr_set: (address: number) => void
  readonly opa_json_dump: (value: number) => number
  readonly builtins: () => number
}

export interface InstanceLimits {
  readonly maxMemoryBytes: number
  /** A longer response is refused. */
  readonly maxResultBytes: number
}

const PAGE_BYTES = 65_536
/** What opa-wasm implements in JavaScript beside what is compiled in (its capabilities.json without the native ones). */
const HOST_BUILTINS = [
  'json.is_valid',
  'regex.split',
  'sprintf',
  'yaml.is_valid',
  'yaml.marshal',
  'yaml.unmarshal',
]

/** The response was too large to be read. */
export class ResultTooLarge extends Error {}

export class OpaInstance {
  readonly #exports: OpaExports
  readonly #memory: WasmMemory
  readonly #entrypoint: number
  readonly #dataAddr: number
  /** Everything from here on belongs to one evaluation and is written over by the next. */
  readonly #heapBase: number
  readonly #maxResultBytes: number
  #bytes: Buffer

  /** @throws Error when the module is not a policy, or imports something unknown. */
  constructor(module: WasmModule, data: unknown, entrypoint: string, limits: InstanceLimits) {
    const loaded = load(module, limits.maxMemoryBytes)
    this.#memory = loaded.mem
    this.#exports = loaded.wasmInstance.exports as OpaExports
    this.#bytes = Buffer.from(this.#memory.buffer)
    this.#maxResultBytes = limits.maxResultBytes
    this.#refuseMissingBuiltins()
    const { entrypoints } = loaded
    const id = Object.hasOwn(entrypoints, entrypoint) ? entrypoints[entrypoint] : undefined
    if (id === undefined) throw new Error(`the WebAssembly module has no entrypoint "${entrypoint}"`)
    this.#entrypoint = id
    loaded.setData(data)
    this.#dataAddr = loaded.dataAddr
    this.#heapBase = loaded.dataHeapPtr
  }

  get memoryBytes(): number {
    return this.#memory.buffer.byteLength
  }

  /**
   * Evaluates the entrypoint on an input in JSON.
   * @returns the result set in JSON, `[]` when the entrypoint is undefined.
   * @throws anything the module throws (strings included); the instance must not be used again then.
   */
  evaluate(input: string): string {
    const base = this.#heapBase
    // three bytes are the most that UTF-8 takes for one UTF-16 unit
    const mayNeed = input.length * 3
    if (base + mayNeed > this.#memory.buffer.byteLength) this.#reserve(mayNeed)
    if (this.#bytes.buffer !== this.#memory.buffer) this.#bytes = Buffer.from(this.#memory.buffer)
    const length = this.#bytes.write(input, base, 'utf8')
    // the heap restarts behind the input at every evaluation: nothing is left over, so nothing can pile up
    const result = this.#exports.opa_eval(0, this.#entrypoint, this.#dataAddr, base, length, base + length, 0)
    if (this.#bytes.buffer !== this.#memory.buffer) this.#bytes = Buffer.from(this.#memory.buffer)
    return this.#text(result)
  }

  /**
   * Memory is made by the module's own allocator, never by `memory.grow` from here: the allocator does not notice
   * foreign growth and grows again beside it at every large input (npm-opa-wasm issue 143).
   */
  #reserve(bytes: number): void {
    this.#exports.opa_heap_ptr_set(this.#heapBase)
    this.#exports.opa_malloc(bytes)
  }

  #text(address: number): string {
    const end = this.#bytes.indexOf(0, address)
    if (end - address > this.#maxResultBytes)
      throw new ResultTooLarge(
        `the result of the policy has ${end - address} bytes, more than the limit of ${this.#maxResultBytes}`,
      )
    return this.#bytes.toString('utf8', address, end)
  }

  #refuseMissingBuiltins(): void {
    const address = this.#exports.opa_json_dump(this.#exports.builtins())
    const needed = Object.keys(JSON.parse(this.#text(address)) as object)
    const missing = needed.filter(name => !HOST_BUILTINS.includes(name))
    if (missing.length > 0) {
      throw new Error(
        `the policy calls the built-in functions ${missing.join(', ')}, which this gateway does not support in WebAssembly policies. Remove these calls`,
      )
    }
  }
}

/** The memory must be at least what the module asks for; the size can only be found by trying. */
function load(module: WasmModule, maxMemoryBytes: number): LoadedPolicy {
  if (!Module.exports(module).some(one => one.name === 'opa_eval')) {
    throw new Error('policy.wasm is not an OPA policy of ABI 1.2: the module does not export opa_eval')
  }
  const maximum = Math.floor(maxMemoryBytes / PAGE_BYTES)
  for (let initial = 5; ; initial = Math.min(initial * 2, maximum)) {
    try {
      return loadPolicySync(module, { initial, maximum })
    } catch (error) {
      if (!(error instanceof LinkError) || initial >= maximum) {
        throw error instanceof Error ? error : new Error(String(error))
      }
    }
  }
}
