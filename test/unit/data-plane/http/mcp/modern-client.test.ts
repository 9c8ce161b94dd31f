/** States that a client carries from a question to the repeated call: for which calls they open, and which results of questions are accepted. */
import { describe, expect, it } from 'vitest'
import { verdictOn } from '../../../../../src/data-plane/http/mcp/elicitation-results.ts'
import { InquiryStates } from '../../../../../src/data-plane/http/mcp/inquiry-states.ts'
import { ModernClient } from '../../../../../src/data-plane/http/mcp/modern-client.ts'
import type { Inquiry, Question } from '../../../../../src/data-plane/pipeline/inquiry.ts'
import { aPrincipal } from '../../../../fixtures/exchange.ts'

const secret = new Uint8Array(32).fill(7)
let nowMs = 1_000_000
const key = { id: 3, secret, createdAtMs: 0 }
const states = new InquiryStates(
  { current: () => key, find: id => (id === 3 ? key : undefined) },
  () => nowMs,
)
const CALL = {
  tool: 'drop_table',
  arguments: { name: 'orders', deep: { a: 1, b: 2 } },
  principal: aPrincipal(),
}
const FORM: Question = {
  method: 'elicitation/create',
  params: {
    message: '?',
    requestedSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  },
}
const YES = { action: 'accept', content: { n: 1 } }

describe('a state', () => {
  const carried = { asked: ['confirm'], answers: { a: 1 } }
  const state = states.issue(CALL, carried)!

  it('opens for the call it was given out for', () => {
    expect(states.open(state, CALL)).toEqual(carried)
    const reordered = { ...CALL, arguments: { deep: { b: 2, a: 1 }, name: 'orders' } }
    expect(states.open(state, reordered)).toEqual(carried)
  })

  it.each([
    ['another tool', { ...CALL, tool: 'drop_tables' }],
    ['another argument', { ...CALL, arguments: { ...CALL.arguments, name: 'order' } }],
    ['one argument more', { ...CALL, arguments: { ...CALL.arguments, cascade: true } }],
    ['another caller', { ...CALL, principal: aPrincipal({ subject: 'somebody-else' }) }],
  ])('does not open for %s', (_, call) => expect(states.open(state, call)).toBeUndefined())

  it('does not open when any part of it was changed', () => {
    for (let at = 0; at < state.length; at++) {
      const changed = `${state.slice(0, at)}${state[at] === '1' ? '2' : '1'}${state.slice(at + 1)}`
      // the last base64 character holds unused bits; the text is compared nevertheless
      expect(states.open(changed, CALL), `at ${at}`).toBeUndefined()
    }
    for (const text of ['', '...', `${state}-`, state.repeat(2), '3.9999999999999.e30.x'])
      expect(states.open(text, CALL)).toBeUndefined()
  })

  it('opens for ten minutes', () => {
    const given = states.issue(CALL, carried)!
    nowMs += 10 * 60_000
    expect(states.open(given, CALL)).toEqual(carried)
    nowMs += 1
    expect(states.open(given, CALL)).toBeUndefined()
  })

  it('carries no more than it holds', () => {
    expect(states.issue(CALL, { asked: [], answers: { a: 'x'.repeat(70_000) } })).toBeUndefined()
  })
})

describe('a modern client', () => {
  const inquiry = (questions: Inquiry['questions'], bound = false): Inquiry => ({ ...CALL, questions, bound })
  const with_ = (params: object): ModernClient =>
    new ModernClient(
      states,
      { kind: 'request', id: 1, method: 'tools/call', params: { ...params } },
      { elicitation: {} },
    )

  it('carries the results of earlier rounds', () => {
    const first = with_({ inputResponses: { a: YES } })
    expect(first.ask(inquiry({ a: FORM }))).toEqual({ a: YES })
    expect(first.ask(inquiry({ b: FORM }))).toBe('pending')
    const { requestState } = first.pendingInput() as { requestState: string }
    const second = with_({ requestState, inputResponses: { b: YES } })
    expect(second.ask(inquiry({ a: FORM }))).toEqual({ a: YES })
    expect(second.ask(inquiry({ b: FORM }))).toEqual({ b: YES })
  })

  it('confirms only what it was asked to confirm', () => {
    const early = with_({ inputResponses: { confirm: YES } })
    expect(early.ask(inquiry({ confirm: FORM }, true))).toBe('pending')
    const { requestState } = early.pendingInput() as { requestState: string }
    const late = with_({ requestState, inputResponses: { confirm: YES } })
    expect(late.ask(inquiry({ confirm: FORM }, true))).toEqual({ confirm: YES })
    const other = states.issue(CALL, { asked: ['a'], answers: { confirm: YES } })
    const crooked = with_({ requestState: other, inputResponses: { confirm: YES } })
    expect(crooked.ask(inquiry({ confirm: FORM }, true))).not.toHaveProperty('confirm')
  })

  it('takes no result of a question of an MCP server for that of another part', () => {
    const server = with_({})
    expect(server.ask({ ...inquiry({ confirm: FORM, why: FORM }), asker: 'server' })).toBe('pending')
    const { requestState } = server.pendingInput() as { requestState: string }
    const params = { requestState, inputResponses: { confirm: YES, why: YES } }
    expect(with_(params).ask(inquiry({ confirm: FORM }, true))).toBe('pending')
    expect(with_(params).ask(inquiry({ why: FORM }))).toBe('pending')
    expect(with_(params).ask({ ...inquiry({ why: FORM }), asker: 'connect' })).toBe('pending')
    const again = { ...inquiry({ confirm: FORM, why: FORM }), asker: 'server' as const }
    expect(with_(params).ask(again)).toEqual({ confirm: YES, why: YES })
    expect(with_({ inputResponses: { why: YES } }).ask({ ...inquiry({ why: FORM }), asker: 'server' })).toBe(
      'pending',
    )
  })

  it('is asked again after an unusable result, but not for a confirmation', () => {
    const odd = { n: 'one' }
    expect(
      with_({ inputResponses: { a: { action: 'accept', content: odd } } }).ask(inquiry({ a: FORM })),
    ).toBe('pending')
    const requestState = states.issue(CALL, { asked: ['confirm'], answers: {} })
    const params = { requestState, inputResponses: { confirm: { action: 'accept', content: odd } } }
    expect(with_(params).ask(inquiry({ confirm: FORM }, true))).toBe('declined')
  })

  it('has a broken state refused', () => {
    for (const requestState of ['x', 7, null, {}]) {
      const client = with_({ requestState, inputResponses: { a: YES } })
      expect(client.ask(inquiry({ a: FORM }))).toBe('pending')
      expect(client.pendingInput()).toBe('state_rejected')
    }
  })
})

describe('answers', () => {
  const model: Question = { method: 'sampling/createMessage', params: {} }
  const roots: Question = { method: 'roots/list', params: {} }
  it.each([
    [FORM, YES, 'accepted'],
    [FORM, { ...YES, more: 1 }, 'accepted'],
    [FORM, { action: 'decline' }, 'declined'],
    [FORM, { action: 'cancel' }, 'declined'],
    [FORM, { action: 'accept', content: {} }, 'unusable'],
    [FORM, { action: 'accept', content: { n: 1.5 } }, 'unusable'],
    [FORM, { action: 'maybe' }, 'unusable'],
    [FORM, 12345, 'unusable'],
    [FORM, undefined, 'unusable'],
    [model, { role: 'assistant', content: { type: 'text', text: 'x' } }, 'accepted'],
    [model, { role: 'assistant' }, 'unusable'],
    [roots, { roots: [] }, 'accepted'],
    [roots, {}, 'unusable'],
  ] as const)('%#', (question, response, verdict) => expect(verdictOn(question, response)).toBe(verdict))
})
