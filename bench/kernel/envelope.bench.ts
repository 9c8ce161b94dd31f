/** The body of a `tools/call`, from bytes as the listener hands them over: to the tool's name, and to the message with its arguments. */

import { readMessage } from '../../src/data-plane/http/mcp/message.ts'
import { CALL_NAME } from '../../src/data-plane/kernel/abi.ts'
import { createKernel } from '../../src/data-plane/kernel/create.ts'
import { CallReader, type EnvelopeReader } from '../../src/data-plane/kernel/envelope.ts'
import { createTwin } from '../../test/oracles/kernel/twin.ts'
import type { BenchCase, Suite } from '../suite.ts'

/** Bodies that one timed run takes. */
const BATCH = 256
/** Of each size; long ones are fewer, since making them takes longer than reading them. */
const COUNT = { short: 4096, long: 512 }
const SIZES = [199, 1024, 10_240]
const FIRST_ID = 100_000
const decoder = new TextDecoder('utf-8', { fatal: true })

interface Message {
  readonly id: unknown
  readonly params: { readonly name?: unknown; readonly arguments?: unknown }
}

/** A call of so many bytes; what is missing from it stands in a list of the arguments, as lines of an order would. */
function bodyOf(size: number, i: number): string {
  const lines: { sku: string; quantity: number; gift: boolean }[] = []
  const body = (note: string): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: FIRST_ID + i,
      method: 'tools/call',
      params: {
        name: 'search_orders',
        arguments: {
          customer: `c-${i % 977}`.padEnd(6, '0'),
          limit: 20 + (i % 50),
          note,
          ...(lines.length === 0 ? undefined : { lines }),
        },
        _meta: { progressToken: `t-${String(i).padStart(5, '0')}` },
      },
    })
  while (size > 600 && body('').length < size - 120)
    lines.push({ sku: `A-${(i * 7919 + lines.length) % 99_991}`, quantity: lines.length, gift: i % 2 === 0 })
  return body('n'.repeat(size - body('').length))
}

/** Bodies no one has seen, side by side in slabs as the listener copies them. */
class FreshBodies {
  readonly batch: Uint8Array[] = []
  /** Index of the batch's first body among all. */
  at = 0
  readonly #all: readonly Buffer[]

  constructor(size: number) {
    this.#all = Array.from({ length: size < 1000 ? COUNT.short : COUNT.long }, (_, i) =>
      Buffer.from(bodyOf(size, i)),
    )
    if (this.#all.some(body => body.length !== size)) throw new Error(`a body is not of ${size} bytes`)
  }

  next(): void {
    this.at = (this.at + BATCH) % this.#all.length
    const step = (this.#all[0]!.length + 7) & ~7
    const slab = new ArrayBuffer(step * BATCH)
    for (let i = 0; i < BATCH; i++) {
      const body = this.#all[this.at + i]!
      this.batch[i] = new Uint8Array(slab, i * step, body.length)
      this.batch[i]!.set(body)
    }
  }
}

function casesOf(size: number): BenchCase[] {
  const fresh = new FreshBodies(size)
  const prepare = (): void => fresh.next()
  /** A function for each case, so that one's types do not slow another. */
  const whole = (id: string, read: (body: Uint8Array) => Message | undefined): BenchCase => ({
    id: `${size}/${id}`,
    perRun: BATCH,
    prepare,
    run() {
      let sum = 0
      for (let i = 0; i < BATCH; i++) {
        const message = read(fresh.batch[i]!)
        if (message === undefined || message.params.name !== 'search_orders')
          throw new Error('a call was not read')
        sum += (message.id as number) + (message.params.arguments as { limit: number }).limit
      }
      checkSum(sum)
    },
  })
  const scan = (engine: string, reader: EnvelopeReader): BenchCase => ({
    id: `${size}/tool/${engine}`,
    perRun: BATCH,
    prepare,
    run() {
      let length = 0
      for (let i = 0; i < BATCH; i++) {
        if (!reader.read(fresh.batch[i]!, true)) throw new Error('a call was not read')
        length += reader.parts[CALL_NAME / 4 + 1]! - reader.parts[CALL_NAME / 4]!
      }
      if (length !== BATCH * 'search_orders'.length) throw new Error('a wrong name')
    },
  })
  const checkSum = (sum: number): void => {
    let wanted = 0
    for (let i = fresh.at; i < fresh.at + BATCH; i++) wanted += FIRST_ID + i + 20 + (i % 50)
    if (sum !== wanted) throw new Error(`a wrong response: ${sum} instead of ${wanted}`)
  }
  const parsed = (body: Uint8Array): Message => {
    const message = readMessage(JSON.parse(decoder.decode(body)))
    if (message.kind !== 'request') throw new Error('not a request')
    return message
  }
  const wasm = createKernel().kernel.envelope
  const twin = createTwin().kernel.envelope
  const wasmCalls = new CallReader(wasm)
  const twinCalls = new CallReader(twin)
  return [
    scan('wasm', wasm),
    scan('twin', twin),
    // as the gateway does: what the reader leaves is parsed
    whole('message/wasm', body => wasmCalls.read(body) ?? parsed(body)),
    whole('message/twin', body => twinCalls.read(body) ?? parsed(body)),
    whole('message/json-parse', body => parsed(body)),
    whole('message/json-parse-and-stringify', body => {
      const message = parsed(body)
      if (JSON.stringify(message.params.arguments).length < 40) throw new Error('too little was written')
      return message
    }),
  ]
}

export default {
  id: 'kernel/envelope',
  title:
    'Body of a tools/call of 199 bytes, 1 KiB and 10 KiB, to the tool’s name and to the message with its arguments',
  cases: () => SIZES.flatMap(casesOf),
} satisfies Suite
