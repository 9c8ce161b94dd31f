/** The host's side of the envelope scanner in WebAssembly: passes it a body, and returns places and texts of the parts. `envelope.ts` builds the call. */
import {
  ARENA_BODY,
  ARENA_MEMBERS,
  CALL_MEMBERS,
  ENVELOPE_CALL,
  MAX_BODY_BYTES,
  MAX_MEMBERS,
  RESULT_CALL,
} from './abi.ts'
import type { EnvelopeReader } from './envelope.ts'
import type { KernelExports } from './exports.ts'

export class WasmEnvelope implements EnvelopeReader {
  readonly parts: Int32Array
  readonly members: Int32Array
  readonly #exports: KernelExports
  readonly #window: Buffer

  /** @param arena base of this thread's arena in `buffer` */
  constructor(exports: KernelExports, buffer: ArrayBufferLike, arena: number) {
    this.#exports = exports
    this.#window = Buffer.from(buffer, arena + ARENA_BODY, MAX_BODY_BYTES)
    this.parts = new Int32Array(buffer, arena + RESULT_CALL, CALL_MEMBERS / 4 + 1)
    this.members = new Int32Array(buffer, arena + ARENA_MEMBERS, MAX_MEMBERS * 4)
  }

  read(body: Uint8Array, nested: boolean): boolean {
    if (body.byteLength > MAX_BODY_BYTES) return false
    this.#window.set(body)
    return this.#exports.readCall(body.byteLength, nested ? 1 : 0) === ENVELOPE_CALL
  }

  latin1(from: number, to: number): string {
    return this.#window.toString('latin1', from, to)
  }

  utf8(from: number, to: number): string {
    return this.#window.toString('utf8', from, to)
  }
}
