/** The oracles of a chaos run, except that of resources, on records made by hand, and the schedule of the faults of a seed. No process is started. */
import { describe, expect, it } from 'vitest'
import { encodeWithLibrary } from '../oracles/event-proto.ts'
import type { BackendCall } from './backend.ts'
import { checkAvailability } from './oracles/availability.ts'
import { checkBurst, checkMinutes } from './oracles/limits.ts'
import { checkMetering } from './oracles/metering.ts'
import { checkWebhooks } from './oracles/webhooks.ts'
import type { CallRecord, Kind } from './record.ts'
import { scheduleOf } from './schedule.ts'

const call = (fields: Partial<CallRecord>): CallRecord => ({
  kind: 'proxy',
  member: 'gateway-0',
  id: 'a.0',
  startedAt: 0,
  endedAt: 1,
  status: 200,
  ok: true,
  detail: '',
  ...fields,
})
const seen = (
  requestId: string,
  beganAt: number,
  endedAt: number | undefined = beganAt + 1,
): BackendCall => ({
  requestId,
  path: '/',
  beganAt,
  endedAt,
})

describe('the limit of a minute', () => {
  /** Seven calls, one every `everyMs`; each reaches the backend `delayMs` after its start. */
  const check = (delayMs: number, everyMs: number) => {
    const times = Array.from({ length: 7 }, (_, at) => at * everyMs)
    return checkMinutes(
      times.map((time, at) => seen(`a.${at}`, time + delayMs)),
      times.map((startedAt, at) => call({ id: `a.${at}`, startedAt })),
      ['a'],
      6,
    )
  }

  it('is kept by calls of which one is in the next minute', () => {
    expect(check(1, 10_000)).toEqual({ findings: [], highest: { a: 6 } })
  })

  it('is exceeded by one call more within it', () => {
    const { findings, highest } = check(1, 9_000)
    expect(findings).toEqual([
      expect.stringMatching(/^a: 7 calls at the backend in the minute from .*, limit 6\.$/),
    ])
    expect(highest).toEqual({ a: 7 })
  })

  it('is not exceeded when a delay can explain it', () => {
    expect(check(6_001, 9_000).findings).toEqual([])
  })

  it('counts a repeated request once', () => {
    const twice = [seen('a.0', 1), seen('a.0', 2)]
    expect(checkMinutes(twice, [call({ id: 'a.0' })], ['a'], 1).highest).toEqual({ a: 1 })
  })
})

describe('the burst limit', () => {
  it('is exceeded by calls at once, and not by calls after each other', () => {
    const spans = [seen('a.0', 0, 10), seen('a.1', 10, 20), seen('a.2', 12, 30), seen('b.0', 0, 99)]
    expect(checkBurst(spans, ['a'], 2).findings).toEqual([])
    expect(checkBurst(spans, ['a'], 1).findings).toEqual([
      expect.stringMatching(/^a: 2 calls .* 1 calls began above it\.$/),
    ])
  })

  it('leaves out calls whose caller disconnected', () => {
    expect(
      checkBurst([seen('a.0', 0, 10), { ...seen('a.1', 5), endedAt: undefined }], ['a'], 1).findings,
    ).toEqual([])
  })
})

describe('availability', () => {
  const many = Array.from({ length: 1000 }, () => call({}))
  const fault = (kind: string) => ({ kind, target: 0, fromAt: 100, untilAt: 200 })
  const failedAt = (startedAt: number, kind: Kind = 'session') =>
    call({ kind, startedAt, endedAt: startedAt + 1, status: 503, ok: false, detail: 'unavailable' })

  it('falls below the bound with a second failure in 1,000 calls', () => {
    expect(checkAvailability([...many, failedAt(500, 'proxy')], [], []).share).toBeGreaterThan(0.999)
    const { findings, failed } = checkAvailability([...many, failedAt(500), failedAt(600)], [], [])
    expect(failed).toBe(2)
    expect(findings[0]).toBe('2 of 1002 calls that needed no broken part failed (99.800 %).')
  })

  it('does not count calls that need the broken part, during the fault and shortly after', () => {
    const calls = [failedAt(150), failedAt(3_100), failedAt(3_300), failedAt(150, 'proxy')]
    const { failed, exempt, recoveryMs } = checkAvailability(calls, [fault('redis-hang')], [])
    expect({ failed, exempt, recoveryMs }).toEqual({
      failed: 2,
      exempt: 2,
      recoveryMs: { 'redis-hang': 2_900 },
    })
  })

  it('does not count calls to a process that is down', () => {
    const down = { name: 'gateway-0', downtimes: [{ fromAt: 100, untilAt: 200 }] }
    const calls = [failedAt(150), { ...failedAt(150), member: 'gateway-1' }]
    expect(checkAvailability(calls, [], [down])).toMatchObject({ failed: 1, exempt: 1 })
  })
})

describe('metering', () => {
  const event = (event_id: string, request_id: string) => ({
    key: '',
    value: Buffer.from(
      encodeWithLibrary({ event_id, request_id, occurred_at: new Date(0).toISOString() } as never),
    ),
  })
  const check = (messages: readonly ReturnType<typeof event>[]) =>
    checkMetering(async () => messages, { metered: new Set(['a.0', 'a.1']) }, 0)

  it('needs one event id for each call; a repeated message is one event', async () => {
    const found = await check([event('1', 'a.0'), event('1', 'a.0'), event('2', 'a.1')])
    expect(found).toEqual({ findings: [], messages: 3, events: 2, required: 2 })
  })

  it('finds calls without an event, and with two', async () => {
    const { findings } = await check([event('1', 'a.0'), event('2', 'a.0')])
    expect(findings).toEqual([
      '1 calls with a response have no event: a.1.',
      '1 calls have several event ids: a.0 2.',
    ])
  })
})

describe('webhooks', () => {
  const promised = [
    { event: 'subscription.created', subscriptionId: 'sub_1', keyPrefix: '', acknowledgedAt: 0 },
    { event: 'subscription.key_rotated', subscriptionId: 'sub_1', keyPrefix: 'tgk_2', acknowledgedAt: 0 },
  ]
  const delivery = (id: string, event: string, key_prefix = 'tgk_1') => ({
    headers: { 'webhook-id': id },
    payload: { event, data: { subscription_id: 'sub_1', key_prefix } },
  })

  it('need each change under one id, as often as it is repeated', async () => {
    const received = [
      delivery('1', 'subscription.created'),
      delivery('1', 'subscription.created'),
      delivery('2', 'subscription.key_rotated', 'tgk_2'),
    ]
    expect(await checkWebhooks(promised, received, 0)).toEqual({
      findings: [],
      promised: 2,
      deliveries: 2,
      received: 3,
    })
  })

  it('find what is missing, and a change under two ids', async () => {
    const received = [delivery('1', 'subscription.created'), delivery('2', 'subscription.created')]
    const { findings } = await checkWebhooks(promised, received, 0)
    expect(findings).toEqual([
      expect.stringMatching(
        /^1 of 2 acknowledged changes were not delivered: subscription.key_rotated sub_1 tgk_2 /,
      ),
      '1 changes were delivered under several ids: subscription.created sub_1.',
    ])
  })
})

describe('the schedule', () => {
  const kinds = ['a', 'b', 'c'] as const
  const times = { everyMs: 20_000, forMs: 120_000 }

  it('is the same for the same seed, and another for another', () => {
    expect(scheduleOf(7, kinds, times)).toEqual(scheduleOf(7, kinds, times))
    expect(scheduleOf(7, kinds, times)).not.toEqual(scheduleOf(8, kinds, times))
  })

  it('has each kind once before any comes again, and faults that end before the next begins', () => {
    const planned = scheduleOf(7, kinds, times)
    expect(planned.map(({ atMs }) => atMs)).toEqual([0, 20_000, 40_000, 60_000, 80_000, 100_000])
    for (const half of [planned.slice(0, 3), planned.slice(3)])
      expect(half.map(({ kind }) => kind).sort()).toEqual(['a', 'b', 'c'])
    for (const { durationMs } of planned) {
      expect(durationMs).toBeGreaterThanOrEqual(1_000)
      expect(durationMs).toBeLessThanOrEqual(15_000)
    }
  })
})
