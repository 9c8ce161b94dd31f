/** Records the accesses of real code to shared memory: of the kernel by instrumentation, of the host by wrapped arrays. It models no cache. */
import { type AccessKind, instrumentKernel, KINDS } from './instrument.ts'

export interface Access {
  readonly kind: AccessKind
  /** In the memory of the kernel; that of another buffer begins at a multiple of `BUFFER_BYTES`. */
  readonly address: number
  readonly bytes: number
}

/** Distance between the addresses of two buffers: no memory of the kernel is larger. */
export const BUFFER_BYTES = 2 ** 31

type Words = Uint32Array | Int32Array | Float64Array | BigInt64Array
type WordsClass = new (buffer: ArrayBufferLike, at?: number, length?: number) => Words

const WRAPPED = ['Uint32Array', 'Int32Array', 'Float64Array', 'BigInt64Array'] as const
const ATOMIC: Readonly<Record<string, AccessKind>> = {
  load: 'load',
  store: 'release',
  add: 'rmw',
  sub: 'rmw',
  exchange: 'rmw',
  compareExchange: 'rmw',
}

let instrumented: WebAssembly.Module | undefined

export class Recorder {
  #accesses: Access[] = []
  #recording = false
  readonly #bases = new Map<ArrayBufferLike, number>()
  readonly #targets = new WeakMap<object, Words>()

  /**
   * Kernels that are instantiated and arrays of words that are created over shared memory from then on report their accesses.
   * @param clock what `performance.now` returns meanwhile
   * @returns a function that ends it
   */
  install(clock: () => number): () => void {
    instrumented ??= instrumentKernel()
    const traced = instrumented
    const trace = (address: number, bytes: number, kind: number): void =>
      this.#add(KINDS[kind]!, address >>> 0, bytes)
    const restore = [
      replace(performance, 'now', clock),
      replace(
        WebAssembly,
        'Instance',
        new Proxy(WebAssembly.Instance, {
          construct: (Instance, [, imports]: [unknown, { env: object }]) =>
            new Instance(traced, { env: { ...imports.env, trace } }),
        }),
      ),
      ...WRAPPED.map(name => replace(globalThis, name, this.#wrapped(globalThis[name] as WordsClass))),
      ...Object.entries(ATOMIC).map(([name, kind]) => replace(Atomics, name, this.#atomic(name, kind))),
    ]
    return () => {
      for (const undo of restore.reverse()) undo()
    }
  }

  /** The accesses of `run`, in their order. */
  record(run: () => void): readonly Access[] {
    this.#accesses = []
    this.#recording = true
    try {
      run()
    } finally {
      this.#recording = false
    }
    return this.#accesses
  }

  #add(kind: AccessKind, address: number, bytes: number): void {
    if (this.#recording) this.#accesses.push({ kind, address, bytes })
  }

  #wrapped(Class: WordsClass): WordsClass {
    const wrap = (words: Words): Words => this.#wrap(words)
    return new Proxy(Class, {
      construct(target, args: unknown[], of) {
        const words = Reflect.construct(target, args, of) as Words
        return args[0] instanceof SharedArrayBuffer ? wrap(words) : words
      },
    })
  }

  #wrap(words: Words): Words {
    const base = this.#baseOf(words.buffer)
    const size = words.BYTES_PER_ELEMENT
    const note = (kind: AccessKind, key: string): void =>
      this.#add(kind, base + words.byteOffset + Number(key) * size, size)
    const proxy = new Proxy(words, {
      get(target, key) {
        if (isIndex(key)) note('load', key)
        const value = Reflect.get(target, key) as unknown
        return typeof value === 'function' ? value.bind(target) : value
      },
      set(target, key, value) {
        if (isIndex(key)) note('store', key)
        return Reflect.set(target, key, value)
      },
    })
    this.#targets.set(proxy, words)
    return proxy
  }

  #atomic(name: string, kind: AccessKind) {
    const original = Reflect.get(Atomics, name) as (...args: unknown[]) => unknown
    return (array: Words, at: number, ...args: unknown[]): unknown => {
      const words = this.#targets.get(array)
      if (words === undefined) return original(array, at, ...args)
      const size = words.BYTES_PER_ELEMENT
      this.#add(kind, this.#baseOf(words.buffer) + words.byteOffset + at * size, size)
      return original(words, at, ...args)
    }
  }

  /** The first buffer, of the kernel, begins at 0. */
  #baseOf(buffer: ArrayBufferLike): number {
    let base = this.#bases.get(buffer)
    if (base === undefined) {
      base = this.#bases.size * BUFFER_BYTES
      this.#bases.set(buffer, base)
    }
    return base
  }
}

function isIndex(key: string | symbol): key is string {
  return typeof key === 'string' && /^\d+$/.test(key)
}

function replace(object: object, name: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(object, name)
  Object.defineProperty(object, name, { value, configurable: true, writable: true })
  return () => {
    if (before === undefined) Reflect.deleteProperty(object, name)
    else Object.defineProperty(object, name, before)
  }
}
