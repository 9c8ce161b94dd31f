/** Questions of several parts about one call, over the requests of a stateless client: the call ends, and each part reads its results. */
import { describe, expect, it } from 'vitest'
import { InquiryStates } from '../../../../src/data-plane/http/mcp/inquiry-states.ts'
import { ModernClient } from '../../../../src/data-plane/http/mcp/modern-client.ts'
import type { InquiryOutcome } from '../../../../src/data-plane/pipeline/inquiry.ts'
import { askClient } from '../../../../src/data-plane/stages/4-decide/ask-client.ts'
import { authorize } from '../../../../src/data-plane/stages/4-decide/authorize.ts'
import { confirmCall } from '../../../../src/data-plane/stages/4-decide/confirm-call.ts'
import { askInputs } from '../../../../src/data-plane/stages/5-invoke/server-questions.ts'
import { aPolicy, aPrincipal, aSnapshot, aTool, compiled, exchange } from '../../../fixtures/exchange.ts'

const key = { id: 1, secret: new Uint8Array(32).fill(5), createdAtMs: 0 }
const keys = { current: () => key, find: () => key }
const CALL = { action: 'tools.call', tool: 'get_order', arguments: { id: '7' } } as const
const MAX_REQUESTS = 12

const form = (name: string) => ({
  method: 'elicitation/create',
  params: {
    message: name,
    requestedSchema: { type: 'object', properties: { [name]: { type: 'boolean' } }, required: [name] },
  },
})

interface Conversation {
  /** Names of the questions of each response. */
  readonly asked: readonly (readonly string[])[]
  /** Results that the server received; undefined: the call did not end. */
  readonly received: readonly InquiryOutcome[] | undefined
  readonly refused?: string
}

/**
 * @param rounds names of the questions that the MCP server asks, one after the other
 * @param early results that the client sends with its first request
 */
async function converse(
  obligations: Record<string, unknown>,
  rounds: readonly (readonly string[])[],
  early: object = {},
): Promise<Conversation> {
  const policy = aPolicy(() => ({ obligations }))
  const decide = authorize()
  const stages = [decide, askClient(decide), confirmCall()]
  const states = new InquiryStates(keys, Date.now)
  const asked: string[][] = []
  let params: { requestState?: string; inputResponses: object } = { inputResponses: early }
  for (let at = 0; at < MAX_REQUESTS; at++) {
    const client = new ModernClient(
      states,
      { kind: 'request', id: at, method: 'tools/call', params: { ...params } },
      { elicitation: {} },
    )
    const transport = { client } as never
    const x = exchange({ snapshot: aSnapshot({}, policy), operation: CALL, transport })
    x.principal = aPrincipal()
    x.tenant = 'acme'
    x.tool = compiled(aTool())
    const outcome = await runTo(x, stages, rounds)
    if (outcome.received !== undefined || outcome.refused !== undefined) return { asked, ...outcome }
    const { inputRequests, requestState } = client.pendingInput() as {
      inputRequests: object
      requestState: string
    }
    const names = Object.keys(inputRequests)
    asked.push(names)
    const inputResponses = Object.fromEntries(
      names.map(name => [name, { action: 'accept', content: { [name]: true } }]),
    )
    params = { requestState, inputResponses }
  }
  return { asked, received: undefined }
}

async function runTo(
  x: ReturnType<typeof exchange>,
  stages: readonly ReturnType<typeof confirmCall>[],
  rounds: readonly (readonly string[])[],
): Promise<Omit<Conversation, 'asked'>> {
  for (const stage of stages) {
    const outcome = await stage.run(x)
    if (outcome?.kind !== 'refusal') continue
    return outcome.reason === 'confirmation_pending'
      ? { received: undefined }
      : { received: undefined, refused: outcome.reason }
  }
  const received: InquiryOutcome[] = []
  for (const names of rounds) {
    const given = await askInputs(x, Object.fromEntries(names.map(name => [name, form(name)])))
    if (given === 'pending') return { received: undefined }
    received.push(given!)
  }
  return { received }
}

const yes = (name: string) => ({ action: 'accept', content: { [name]: true } })

describe('a call', () => {
  it('that the user confirms ends, however many questions the server has', async () => {
    expect(await converse({ confirm: {} }, [])).toEqual({ asked: [['confirm']], received: [] })
    const one = await converse({ confirm: {} }, [['size', 'color']])
    expect(one.received).toEqual([{ size: yes('size'), color: yes('color') }])
    const two = await converse({ confirm: {} }, [['size'], ['color']])
    expect(two.received).toEqual([{ size: yes('size') }, { color: yes('color') }])
    // each question of the server once
    expect(two.asked.filter(names => !names.includes('confirm'))).toEqual([['size'], ['color']])
  })

  it('about which policy, gateway and server ask ends as well', async () => {
    const { asked, received } = await converse({ ask: { why: form('why') }, confirm: {} }, [
      ['size'],
      ['color'],
    ])
    expect(received).toEqual([{ size: yes('size') }, { color: yes('color') }])
    expect(asked.flat().filter(name => name !== 'confirm')).toEqual(['why', 'size', 'color'])
  })

  it('about which the server asks under the name of another question has a result for each', async () => {
    const confirmed = await converse({ confirm: {} }, [['confirm']])
    expect(confirmed).toEqual({
      asked: [['confirm'], ['confirm'], ['confirm']],
      received: [{ confirm: yes('confirm') }],
    })
    // the first is the policy's
    const asked = await converse({ ask: { why: form('why') } }, [['why', 'confirm']])
    expect(asked).toEqual({
      asked: [['why'], ['why', 'confirm']],
      received: [{ why: yes('why'), confirm: yes('confirm') }],
    })
    const early = await converse({ ask: { why: form('why') } }, [['why']], { why: yes('why') })
    expect(early).toEqual({ asked: [['why']], received: [{ why: yes('why') }] })
  })

  it('is confirmed by no result that the client sent unasked', async () => {
    const { asked, received } = await converse({ confirm: {} }, [['size']], { confirm: yes('confirm') })
    expect(asked[0]).toEqual(['confirm'])
    expect(received).toEqual([{ size: yes('size') }])
  })
})
