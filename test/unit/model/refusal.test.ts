/** The table of refusals: the form of every message and challenge, and the exact text of pinned messages. */
import { describe, expect, it } from 'vitest'
import { REFUSALS, type RefusalReason, refuse } from '../../../src/model/refusal.ts'

const reasons = Object.keys(REFUSALS) as RefusalReason[]

describe('every refusal', () => {
  it.each(reasons)('%s has a message of complete sentences', reason => {
    const { message } = REFUSALS[reason]
    expect(message).toMatch(/^[A-Z].*\.$/)
    expect(message.length).toBeLessThanOrEqual(200)
  })

  it.each(reasons)('%s has a challenge if its status is 401, else none but insufficient_scope', reason => {
    const { status, oauth } = REFUSALS[reason] as { status: number; oauth?: string }
    if (status === 401) expect(oauth).toBeDefined()
    else expect(oauth ?? 'insufficient_scope').toBe('insufficient_scope')
  })

  it('is one frozen object without detail, and a new one with it', () => {
    expect(refuse('overloaded')).toBe(refuse('overloaded'))
    expect(Object.isFrozen(refuse('overloaded'))).toBe(true)
    expect(refuse('overloaded', { retryAfterSecs: 1 })).toMatchObject({
      reason: 'overloaded',
      message: REFUSALS.overloaded.message,
      retryAfterSecs: 1,
    })
  })
})

/** Changing one of these texts takes a change here. */
const PINNED: { readonly [reason in RefusalReason]?: string } = {
  internal_error: 'Internal error.',
}

it.each(Object.entries(PINNED))('%s says %j', (reason, message) => {
  expect(refuse(reason as RefusalReason).message).toBe(message)
})
