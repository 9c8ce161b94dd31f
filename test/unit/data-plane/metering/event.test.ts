/** Events: the hand-written encoder and decoder against protobufjs on event.proto, ids, formats. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeEvent, readEvent } from '../../../../src/data-plane/metering/event-codec.ts'
import { EventEncoder, MAX_EVENT_BYTES } from '../../../../src/data-plane/metering/event-encoder.ts'
import { EventIds, newWriterName, writerOf } from '../../../../src/data-plane/metering/event-id.ts'
import { ACCESSES, OUTCOMES } from '../../../../src/link/metering-event.ts'
import { aCall, anOrigin } from '../../../fixtures/metering.ts'
import { decodeWithLibrary, encodeWithLibrary, FIELD_NAMES } from '../../../oracles/event-proto.ts'

const text = fc.string({ unit: 'grapheme', maxLength: 60 })
const size = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })

describe('the encoder', () => {
  it('writes what the decoder and protobufjs read, for every event', () => {
    const buffer = Buffer.alloc(MAX_EVENT_BYTES + 10)
    fc.assert(
      fc.property(
        fc.record({
          tenantId: text,
          consumerId: text,
          subscriptionId: text,
          apiId: text,
          tool: text,
          toolset: text,
          access: fc.constantFrom(...ACCESSES),
          policyRevision: text,
        }),
        fc.record({
          occurredAtMs: fc.integer({ min: 0, max: 4_102_444_800_000 }),
          requestId: text,
          outcome: fc.constantFrom(...OUTCOMES),
          statusCode: fc.integer({ min: 0, max: 599 }),
          latencyUs: size,
          backendLatencyUs: fc.oneof(fc.constant(-1), size),
          requestBytes: size,
          responseBytes: size,
          tokensSavedBytes: size,
          cacheHit: fc.boolean(),
          counted: fc.boolean(),
          decisionId: text,
        }),
        size,
        (origin, call, sequence) => {
          const writer = newWriterName()
          const encoder = new EventEncoder(writer, 'gateway-ä')
          const end = encoder.write(buffer, 3, sequence, { ...origin, encoded: undefined }, call)
          const event = decodeEvent(buffer.subarray(3, end))
          const { latency_us, tenant_id } = decodeWithLibrary(buffer.subarray(3, end))
          expect([latency_us ?? 0, tenant_id ?? '']).toEqual([call.latencyUs, origin.tenantId])
          expect(event).toEqual({
            event_id: event.event_id,
            occurred_at: new Date(call.occurredAtMs).toISOString(),
            sequence,
            request_id: call.requestId,
            tenant_id: origin.tenantId,
            consumer_id: origin.consumerId,
            subscription_id: origin.subscriptionId,
            api_id: origin.apiId,
            tool: origin.tool,
            toolset: origin.toolset,
            access: origin.access,
            outcome: call.outcome,
            status_code: call.statusCode,
            latency_us: call.latencyUs,
            ...(call.backendLatencyUs < 0 ? {} : { backend_latency_us: call.backendLatencyUs }),
            request_bytes: call.requestBytes,
            response_bytes: call.responseBytes,
            tokens_saved_bytes: call.tokensSavedBytes,
            cache_hit: call.cacheHit,
            counted: call.counted,
            policy_revision: origin.policyRevision,
            decision_id: call.decisionId,
            gateway: 'gateway-ä',
          })
          expect(writerOf(event.event_id)).toBe(writer)
          expect(decodeEvent(encodeWithLibrary(event))).toEqual(event)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('writes the time of each event, independent of the event before', () => {
    const buffer = Buffer.alloc(MAX_EVENT_BYTES)
    const times = fc.array(
      fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 4_102_444_800_000 })),
    )
    fc.assert(
      fc.property(times, all => {
        const encoder = new EventEncoder(newWriterName(), 'gateway-1')
        const made = all
          .flatMap(occurredAtMs => [occurredAtMs, occurredAtMs])
          .map((occurredAtMs, index) => {
            const end = encoder.write(buffer, 0, index + 1, anOrigin(), aCall({ occurredAtMs }))
            const event = decodeEvent(buffer.subarray(0, end))
            expect(event.occurred_at).toBe(new Date(occurredAtMs).toISOString())
            return event.event_id
          })
        expect([...new Set(made)].sort()).toEqual(made)
      }),
    )
  })

  it('keeps the longest texts within its bound', () => {
    const long = '€'.repeat(5000)
    const origin = anOrigin({
      tenantId: long,
      consumerId: long,
      subscriptionId: long,
      apiId: long,
      tool: long,
      toolset: long,
      policyRevision: long,
    })
    const buffer = Buffer.alloc(2 * MAX_EVENT_BYTES)
    const call = aCall({ requestId: long, decisionId: long })
    const end = new EventEncoder(newWriterName(), long).write(buffer, 0, 1, origin, call)
    expect(end).toBeLessThan(MAX_EVENT_BYTES)
    expect(decodeEvent(buffer.subarray(0, end)).consumer_id).toBe('€'.repeat(1024))
  })
})

describe('ids of events', () => {
  it('are UUIDs of version 7 with the time in front, ascending also when the clock stands still or steps back', () => {
    const ids = new EventIds(newWriterName())
    const made: string[] = []
    for (let index = 0; index < 10_000; index++) {
      ids.next(1_700_000_000_000 - (index === 6000 ? 50 : 0))
      made.push(Buffer.from(ids.text).toString('latin1'))
    }
    for (const id of made)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(new Set(made).size).toBe(10_000)
    expect([...made].sort()).toEqual(made)
    expect(Number.parseInt(made[0]!.slice(0, 13).replace('-', ''), 16)).toBe(1_700_000_000_000)
  })

  it('contain no writer when they are not UUIDv7', () => {
    expect(writerOf('req-1')).toBeUndefined()
    expect(writerOf('0190163d-8694-439b-aea5-966c26f8ad91')).toBeUndefined()
  })
})

describe('formats', () => {
  const event = decodeEvent(written())

  it('are distinguished by their first byte', () => {
    expect(readEvent(written()).request_id).toBe(event.request_id)
    expect(readEvent(Buffer.from(JSON.stringify(event)))).toEqual(event)
  })

  it('reject bytes that are not an event', () => {
    for (const bytes of ['', '{}', '{', '\u0000\u0001', 'text'])
      expect(() => readEvent(Buffer.from(bytes))).toThrow()
  })
})

describe('event.proto', () => {
  it('has the fields that the decoder reads, under their numbers', () => {
    const event = decodeEvent(written())
    expect(Object.keys(event)).toEqual(
      [...FIELD_NAMES.entries()].sort(([a], [b]) => a - b).map(([, name]) => name),
    )
  })

  it('never changes the numbers of its fields', () => {
    const proto = readFileSync('src/data-plane/metering/event.proto', 'utf8')
    const fields = [...proto.matchAll(/^ {2}(?:optional )?[\w.]+ (\w+) = (\d+);/gm)].map(
      ([, name, n]) => `${n} ${name}`,
    )
    expect(fields).toEqual([
      '1 event_id',
      '2 occurred_at',
      '3 sequence',
      '4 request_id',
      '5 tenant_id',
      '6 consumer_id',
      '7 subscription_id',
      '8 api_id',
      '9 tool',
      '10 toolset',
      '11 access',
      '12 outcome',
      '13 status_code',
      '14 latency_us',
      '15 backend_latency_us',
      '16 request_bytes',
      '17 response_bytes',
      '18 tokens_saved_bytes',
      '19 cache_hit',
      '20 counted',
      '21 policy_revision',
      '22 decision_id',
      '23 gateway',
    ])
  })
})

function written(): Buffer {
  const buffer = Buffer.alloc(MAX_EVENT_BYTES)
  const end = new EventEncoder(newWriterName(), 'gateway-1').write(buffer, 0, 7, anOrigin(), aCall())
  return Buffer.from(buffer.subarray(0, end))
}
