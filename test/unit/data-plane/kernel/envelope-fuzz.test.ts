/**
 * Bodies of calls, damaged, against `JSON.parse`: what the reader takes must be what that makes of it, to the last bit.
 * 20,000 bodies; SOAK=1 takes a million. FUZZ_SEED repeats a run.
 */
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { readMessage } from '../../../../src/data-plane/http/mcp/message.ts'
import {
  CALL_ARGUMENTS,
  CALL_ID,
  CALL_MEMBERS,
  CALL_META,
  CALL_NAME,
} from '../../../../src/data-plane/kernel/abi.ts'
import { createKernel } from '../../../../src/data-plane/kernel/create.ts'
import { CallReader, type EnvelopeReader } from '../../../../src/data-plane/kernel/envelope.ts'
import { createTwin } from '../../../oracles/kernel/twin.ts'
import { Bodies } from './envelope-bodies.ts'

const COUNT = process.env.SOAK === '1' ? 1_000_000 : 20_000
const SEED = Number(process.env.FUZZ_SEED ?? 20260728)
const decoder = new TextDecoder('utf-8', { fatal: true })

/** As a body is read without the kernel. */
function parsed(body: Uint8Array): unknown {
  try {
    return readMessage(JSON.parse(decoder.decode(body)))
  } catch {
    return undefined
  }
}

/** What the reader makes of a body, in the same form; undefined where it leaves the body to `JSON.parse`. */
function read(reader: CallReader, body: Uint8Array): unknown {
  const call = reader.read(body)
  return call === undefined
    ? undefined
    : { kind: 'request', id: call.id, method: 'tools/call', params: call.params }
}

/** Whether the kernel takes it. Throws where kernel, twin and `JSON.parse` are not of one mind. */
function compare(body: Uint8Array, [kernel, calls]: Side, [twin, twinCalls]: Side): boolean {
  const message = parsed(body)
  const differs = (): never => {
    throw new Error(`bodies are read differently: ${Buffer.from(body).toString('base64')}`)
  }
  for (const made of [read(calls, body), read(twinCalls, body)])
    if (made !== undefined && !isDeepStrictEqual(made, message)) differs()
  for (const nested of [false, true]) {
    const taken = kernel.read(body, nested)
    if (twin.read(body, nested) !== taken) differs()
    if (!taken) continue
    if (!isDeepStrictEqual(places(kernel), places(twin))) differs()
    if (!isDeepStrictEqual(inParts(kernel), message)) differs()
  }
  return kernel.read(body, true)
}

/** The message, each part of it parsed by itself. */
function inParts(reader: EnvelopeReader): unknown {
  const part = (at: number, quote = ''): unknown => {
    const [from, to] = reader.parts.subarray(at / 4)
    return to === 0 ? undefined : JSON.parse(quote + reader.utf8(from!, to!) + quote)
  }
  const optional = { arguments: part(CALL_ARGUMENTS), _meta: part(CALL_META) }
  const params = {
    name: part(CALL_NAME, '"'),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  }
  return readMessage({ jsonrpc: '2.0', id: part(CALL_ID), method: 'tools/call', params })
}

type Side = readonly [EnvelopeReader, CallReader]

/** All that a reader wrote down. */
function places({ parts, members }: EnvelopeReader): number[] {
  return [...parts, ...members.subarray(0, Math.max(0, parts[CALL_MEMBERS / 4]!) * 4)]
}

function side(reader: EnvelopeReader): Side {
  return [reader, new CallReader(reader)]
}

test(`${COUNT} damaged bodies: what is taken is what JSON.parse makes of it`, { timeout: 900_000 }, () => {
  const bodies = new Bodies(SEED)
  const kernel = side(createKernel().kernel.envelope)
  const twin = side(createTwin().kernel.envelope)
  let taken = 0
  let left = 0
  for (let i = 0; i < COUNT; i++) {
    const body = bodies.damaged()
    if (compare(body, kernel, twin)) taken++
    else if (parsed(body) !== undefined) left++
  }
  // both kinds must be there in numbers, or nothing was compared
  expect(taken).toBeGreaterThan(COUNT / 10)
  expect(left).toBeGreaterThan(COUNT / 20)
  if (process.env.SOAK === '1') process.stdout.write(`taken ${taken}, sound but left ${left} of ${COUNT}\n`)
})

test('undamaged calls are all taken', () => {
  const bodies = new Bodies(SEED)
  const kernel = side(createKernel().kernel.envelope)
  const twin = side(createTwin().kernel.envelope)
  for (let i = 0; i < 2000; i++) {
    const body = bodies.call()
    if (!compare(body, kernel, twin)) throw new Error(`not taken: ${body.toString()}`)
  }
})
