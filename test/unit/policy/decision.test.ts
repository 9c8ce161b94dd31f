/** What counts as a decision of a policy: every document of another shape is none, so that the call is denied. */
import { describe, expect, it } from 'vitest'
import { decisionOf } from '../../../src/policy/decision.ts'

const REASON = { code: 'no', message: 'No.' }

describe('a decision document', () => {
  it.each([
    ['no object', 'allow'],
    ['no allow', { reasons: [] }],
    ['an allow that is a text', { allow: 'true' }],
    ['reasons that are a text', { allow: false, reasons: 'no' }],
    ['reasons that are an object', { allow: true, reasons: {} }],
    ['a reason that is a text', { allow: false, reasons: ['no'] }],
    ['a reason without code', { allow: false, reasons: [{ message: 'No.' }] }],
    ['a reason without message', { allow: false, reasons: [{ code: 'no' }] }],
    ['scopes that are a text', { allow: false, reasons: [{ ...REASON, scopes: 'read' }] }],
    ['a scope that is a number', { allow: false, reasons: [{ ...REASON, scopes: ['read', 1] }] }],
    ['obligations that are a list', { allow: true, obligations: ['redact'] }],
    ['obligations that are a text', { allow: true, obligations: 'redact' }],
  ])('with %s is none', (_, document) => {
    expect(decisionOf(document, 'r')).toBeUndefined()
  })

  it('hands on reasons with their scopes', () => {
    expect(decisionOf({ allow: false, reasons: [{ ...REASON, scopes: ['read'] }, REASON] }, 'r')).toEqual({
      allow: false,
      reasons: [{ ...REASON, scopes: ['read'] }, REASON],
      revision: 'r',
    })
    // all calls with the decision share them
    expect(
      Object.isFrozen(
        decisionOf({ allow: false, reasons: [{ ...REASON, scopes: ['read'] }] }, 'r')?.reasons[0]?.scopes,
      ),
    ).toBe(true)
  })

  it('needs no reason to allow, and is given one to deny', () => {
    expect(decisionOf({ allow: true }, 'r')).toEqual({ allow: true, reasons: [], revision: 'r' })
    expect(decisionOf({ allow: false, reasons: [] }, 'r')?.reasons).toMatchObject([{ code: 'denied' }])
  })

  it('has obligations only when there are some', () => {
    expect(decisionOf({ allow: true, obligations: {} }, 'r')).not.toHaveProperty('obligations')
    expect(decisionOf({ allow: true, obligations: { confirm: true } }, 'r')?.obligations).toEqual({
      confirm: true,
    })
  })
})
