/** The request and trace ids of the calls in a ring, as bytes. */
import { MAX_REQUEST_ID } from '../../base/request-id.ts'

/** Hexadecimal (W3C Trace Context §3.2.2.3). */
const MAX_TRACE_ID = 32
/** Calls whose ids are written at once: one write for each id takes four times as long as all else that is recorded of a call. */
const GROUP = 256
const GROUP_BYTES = GROUP * (MAX_REQUEST_ID + MAX_TRACE_ID)

/**
 * A string that is kept until the ring comes round is moved to V8's old generation: 140 bytes of each call, which would need a full
 * collection every few seconds.
 */
export class CallIds {
  /** One group more than the ring has: the ids of the oldest calls stay while those that replace them are written. Unwritten pages take no memory. */
  readonly #bytes: Buffer
  /** By slot: where its ids begin. */
  readonly #starts: Uint32Array
  /** By slot: of both ids. */
  readonly #lengths: Uint8Array
  /** Ids of the last group. */
  #texts = ''
  #count = 0
  #groupAt = 0
  /** Characters of `#texts` that are in `#bytes`. */
  #written = 0

  /** @param capacity of the ring, in calls */
  constructor(capacity: number) {
    this.#bytes = Buffer.alloc((Math.ceil(capacity / GROUP) + 1) * GROUP_BYTES)
    this.#starts = new Uint32Array(capacity)
    this.#lengths = new Uint8Array(2 * capacity)
  }

  /** Longer ids are cut. @param slot each in turn */
  write(slot: number, requestId: string, traceId: string): void {
    const request = requestId.length <= MAX_REQUEST_ID ? requestId : requestId.slice(0, MAX_REQUEST_ID)
    const trace = traceId.length <= MAX_TRACE_ID ? traceId : traceId.slice(0, MAX_TRACE_ID)
    this.#starts[slot] = this.#groupAt + this.#texts.length
    this.#lengths[2 * slot] = request.length
    this.#lengths[2 * slot + 1] = trace.length
    this.#texts = this.#texts + request + trace
    if (++this.#count === GROUP) this.#endGroup()
  }

  requestId(slot: number): string {
    const start = this.#starts[slot]!
    return this.#text(start, this.#lengths[2 * slot]!)
  }

  traceId(slot: number): string {
    const start = this.#starts[slot]! + this.#lengths[2 * slot]!
    return this.#text(start, this.#lengths[2 * slot + 1]!)
  }

  #text(start: number, length: number): string {
    this.#flush()
    return this.#bytes.toString('latin1', start, start + length)
  }

  #flush(): void {
    if (this.#written === this.#texts.length) return
    this.#bytes.write(this.#texts, this.#groupAt, 'latin1')
    this.#written = this.#texts.length
  }

  #endGroup(): void {
    this.#flush()
    this.#texts = ''
    this.#written = 0
    this.#count = 0
    const next = this.#groupAt + GROUP_BYTES
    this.#groupAt = next === this.#bytes.length ? 0 : next
  }
}
