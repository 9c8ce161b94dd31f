/** Questions of a policy to a client, decisions with the results, and headers that mirror arguments. */
import { describe, expect, it } from 'vitest'
import type { Exchange, ExchangeInit } from '../../../../../src/data-plane/pipeline/exchange.ts'
import type { ClientSide, Inquiry, InquiryOutcome } from '../../../../../src/data-plane/pipeline/inquiry.ts'
import { askClient } from '../../../../../src/data-plane/stages/4-decide/ask-client.ts'
import { confirmCall } from '../../../../../src/data-plane/stages/4-decide/confirm-call.ts'
import { matchHeaders } from '../../../../../src/data-plane/stages/4-decide/match-headers.ts'
import { questionsOf } from '../../../../../src/data-plane/stages/shared/questions.ts'
import type { Refusal } from '../../../../../src/model/refusal.ts'
import type { Decision } from '../../../../../src/policy/engine.ts'
import { aTool, compiled, exchange } from '../../../../fixtures/exchange.ts'

const CALL = { action: 'tools.call', tool: 'get_order', arguments: { id: '7' } } as const
const FORM = { method: 'elicitation/create', params: { message: 'Who?' } } as const

function decided(obligations?: Decision['obligations']): Decision {
  return { allow: true, reasons: [], revision: 'r', ...(obligations === undefined ? {} : { obligations }) }
}

function asking(obligations: Decision['obligations'], client?: ClientSide): Exchange {
  const x = exchange({ operation: CALL, ...(client === undefined ? {} : { transport: { client } }) })
  x.decision = decided(obligations)
  x.principal = { subject: 'a' } as never
  x.tool = compiled(aTool({ name: 'get_order' }))
  return x
}

/** @param say the client's results, round by round */
function client(...say: readonly InquiryOutcome[]): ClientSide & { readonly heard: Inquiry[] } {
  const heard: Inquiry[] = []
  return {
    capabilities: new Set(['elicitation']),
    respondsDuringCall: true,
    heard,
    ask(inquiry) {
      heard.push(inquiry)
      return say[heard.length - 1] ?? 'declined'
    },
  }
}

/** Decides by the results. */
function deciding(next: (x: Exchange) => Decision | Refusal): Parameters<typeof askClient>[0] {
  return {
    id: 'authorize',
    phase: 'decide',
    run(x) {
      const outcome = next(x)
      if ('kind' in outcome) return outcome
      x.decision = outcome
      return undefined
    },
  }
}

describe('ask-client', () => {
  it('has the policy decide again with the results, until no question is open', async () => {
    const asked = client({ a: { action: 'accept' } }, { b: { action: 'accept' } })
    const x = asking({ ask: { a: FORM } }, asked)
    const stage = askClient(
      deciding(({ answers }) =>
        decided({ ask: answers?.b === undefined ? { a: FORM, b: FORM } : { a: FORM } }),
      ),
    )
    expect(await stage.run(x)).toBeUndefined()
    expect(asked.heard.map(inquiry => Object.keys(inquiry.questions))).toEqual([['a'], ['b']])
    expect(x.answers).toEqual({ a: { action: 'accept' }, b: { action: 'accept' } })
  })

  it.each([
    ['declined', 'confirmation_declined'],
    ['pending', 'confirmation_pending'],
  ] as const)('ends with %s as %s', async (outcome, reason) => {
    const stage = askClient(deciding(() => decided()))
    expect(await stage.run(asking({ ask: { a: FORM } }, client(outcome)))).toMatchObject({ reason })
  })

  it('names the capabilities that are missing', async () => {
    const model = { method: 'sampling/createMessage', params: {} }
    const stage = askClient(deciding(() => decided()))
    const x = asking({ ask: { a: FORM, b: model } }, client())
    expect(await stage.run(x)).toMatchObject({
      reason: 'confirmation_unsupported',
      requiredCapabilities: ['sampling'],
    })
    expect(await stage.run(asking({ ask: { a: FORM } }))).toMatchObject({
      requiredCapabilities: ['elicitation'],
    })
  })

  it('takes a denial for what it is, and ends a policy that only asks', async () => {
    const denied = { kind: 'refusal', reason: 'policy_denied' } as Refusal
    const yes = { a: {} }
    expect(await askClient(deciding(() => denied)).run(asking({ ask: { a: FORM } }, client(yes)))).toBe(
      denied,
    )
    let n = 0
    const endless = deciding(() => decided({ ask: { [`q${n++}`]: FORM } }))
    const patient: ClientSide = {
      capabilities: new Set(['elicitation']),
      respondsDuringCall: true,
      ask: ({ questions }) => Object.fromEntries(Object.keys(questions).map(name => [name, {}])),
    }
    expect(await askClient(endless).run(asking({ ask: { a: FORM } }, patient))).toMatchObject({
      reason: 'policy_denied',
    })
    expect(n).toBe(8)
  })
})

describe('confirm-call', () => {
  it('asks bound to the call, and takes nothing but a yes', async () => {
    for (const [content, reason] of [
      [{ confirm: true }, undefined],
      [{ confirm: 'true' }, 'confirmation_declined'],
      [undefined, 'confirmation_declined'],
    ] as const) {
      const asked = client({ confirm: { action: 'accept', content } })
      const outcome = (await confirmCall().run(asking({ confirm: {} }, asked))) as Refusal | undefined
      expect(outcome?.reason).toBe(reason)
      expect(asked.heard[0]).toMatchObject({ bound: true, arguments: { id: '7' } })
    }
  })

  it('asks nothing where the policy wants nothing', async () => {
    for (const obligations of [undefined, {}, { confirm: false }])
      expect(await confirmCall().run(asking(obligations))).toBeUndefined()
  })
})

describe('questions', () => {
  it.each([
    [{}],
    [{ confirm: FORM }],
    [{ a: { method: 'tools/call', params: {} } }],
    [{ a: { method: 'toString', params: {} } }],
    [{ a: { method: 'roots/list' } }],
    [[FORM]],
    ['a'],
    [Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`q${n}`, FORM]))],
  ])('%j are none', parameters => expect(questionsOf(parameters)).toBeUndefined())
})

describe('match-headers', () => {
  const inputSchema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      shelf: { type: 'integer', 'x-mcp-header': 'Shelf' },
      deep: { type: 'object', properties: { on: { type: 'boolean', 'x-mcp-header': 'On' } } },
      list: { type: 'array', items: { properties: { no: { 'x-mcp-header': 'No' } } } },
    },
  } as const
  const headers: Record<string, string | null> = {}
  const mirrored: NonNullable<ExchangeInit['transport']>['mirrored'] = name => headers[name]

  it.each([
    [{}, {}, undefined],
    [{ region: 'eu' }, { region: 'eu' }, undefined],
    [{ region: 'eu' }, {}, 'is missing'],
    [{ region: 'eu' }, { region: 'EU' }, 'differs'],
    [{ region: 'eu' }, { region: null }, 'base64'],
    [{}, { region: 'eu' }, 'that it mirrors is missing'],
    [{ region: null }, {}, undefined],
    [{ shelf: 7 }, { shelf: '7' }, undefined],
    [{ shelf: 7 }, { shelf: '7.0' }, undefined],
    [{ shelf: 7 }, { shelf: '0x7' }, 'differs'],
    [{ deep: { on: true } }, { on: 'true' }, undefined],
    [{ deep: { on: true } }, {}, 'is missing'],
    [{ list: [{ no: 1 }] }, {}, undefined],
  ] as const)('arguments %j with headers %j: %s', (args, given, fault) => {
    for (const name of Object.keys(headers)) delete headers[name]
    for (const [name, value] of Object.entries(given)) headers[`mcp-param-${name}`] = value
    const x = exchange({ operation: { ...CALL, arguments: args }, transport: { mirrored } })
    x.tool = compiled(aTool({ inputSchema }))
    const outcome = matchHeaders().run(x) as Refusal | undefined
    if (fault === undefined) expect(outcome).toBeUndefined()
    else expect(outcome).toMatchObject({ reason: 'header_mismatch', message: expect.stringContaining(fault) })
  })

  it('compares nothing in the other eras', () => {
    const x = exchange({ operation: { ...CALL, arguments: { region: 'eu' } } })
    x.tool = compiled(aTool({ inputSchema }))
    expect(matchHeaders().run(x)).toBeUndefined()
  })
})
