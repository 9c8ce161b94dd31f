/** States of a delivery after each attempt and a manual retry, the waits between attempts, and the body of a message. */
import { describe, expect, it } from 'vitest'
import { WEBHOOK_EVENT_KINDS } from '../../../src/model/event.ts'
import { isoMicroseconds, messageBody, sampleData } from '../../../src/model/webhook.ts'
import {
  type AttemptOutcome,
  afterAttempt,
  type Delivery,
  retryDelivery,
} from '../../../src/model/webhook-delivery.ts'

const at = new Date('2026-03-01T10:00:00Z')
const bad: AttemptOutcome = {
  delivered: false,
  statusCode: 500,
  responseBody: 'no',
  error: 'the receiver responded 500',
  durationMs: 5,
}
const good: AttemptOutcome = { ...bad, delivered: true, statusCode: 204, error: null }

describe('after an attempt', () => {
  it.each([0, 1, 2, 3, 4])('number %i + 1 that arrives, a delivery is a success', attempts => {
    expect(afterAttempt(attempts, good, at, 0.5)).toMatchObject({
      status: 'success',
      attempt: attempts + 1,
      nextAttemptAt: null,
      deliveredAt: at,
      statusCode: 204,
      error: null,
    })
  })

  it.each([
    [0, 60],
    [1, 300],
    [2, 900],
    [3, 3600],
  ])(
    'that failed with %i before it, the next comes after %i s and at most a tenth more',
    (attempts, secs) => {
      for (const random of [0, 0.5, 1]) {
        const after = afterAttempt(attempts, bad, at, random)
        expect(after).toMatchObject({ status: 'pending', attempt: attempts + 1, deliveredAt: null })
        expect(after.nextAttemptAt!.getTime() - at.getTime()).toBe(secs * 1000 + secs * 100 * random)
      }
    },
  )

  it.each([4, 5])('that failed with %i before it, it has failed for good', attempts => {
    expect(afterAttempt(attempts, bad, at, 0)).toMatchObject({
      status: 'failed',
      attempt: 5,
      nextAttemptAt: null,
      deliveredAt: null,
    })
  })
})

describe('a manual retry', () => {
  const delivery = { status: 'failed', attempt: 5, nextAttemptAt: null } as unknown as Delivery

  it('makes a failed delivery pending and due, and one more failure ends it again', () => {
    const move = retryDelivery(delivery, at)
    expect(move).toMatchObject({ ok: true, value: { status: 'pending', attempt: 5, nextAttemptAt: at } })
    expect(afterAttempt(5, bad, at, 0).status).toBe('failed')
  })

  it.each(['pending', 'success'] as const)('is refused while it is %s', status => {
    expect(retryDelivery({ ...delivery, status }, at).ok).toBe(false)
  })
})

describe('a message', () => {
  it('has the documented fields, in their order', () => {
    const message = { timestamp: 't', webhookId: 'whk_1', data: { plan: 'gold' }, test: false }
    expect(messageBody({ event: 'subscription.created', ...message })).toBe(
      '{"event":"subscription.created","timestamp":"t","webhook_id":"whk_1","data":{"plan":"gold"},"test":false}',
    )
  })

  it('gives its time with six digits', () => {
    expect(isoMicroseconds(0)).toBe('1970-01-01T00:00:00.000000Z')
    expect(isoMicroseconds(Date.parse('2026-03-01T10:20:30.123Z') * 1000 + 45)).toBe(
      '2026-03-01T10:20:30.123045Z',
    )
  })

  it.each(WEBHOOK_EVENT_KINDS)('of a test for %s has the fields of its kind', kind => {
    const ofSubscription = ['subscription_id', 'api_id', 'api_name', 'consumer_id', 'plan', 'status']
    const ofWebhook = ['webhook_id', 'webhook_name', 'host', 'failed_deliveries', 'status_code', 'error']
    const ofApi = ['api_id', 'api_name', 'spec_hash', 'tools', 'changes']
    const fields = { webhook: ofWebhook, api: ofApi, subscription: ofSubscription }
    expect(Object.keys(sampleData(kind, at))).toEqual(
      expect.arrayContaining(fields[kind.split('.')[0] as keyof typeof fields]),
    )
  })
})
