/** The whole pipeline: warm without the backend call, stage by stage, with a backend that responds at once, and cold. */

import { isPending } from '../../src/base/and-then.ts'
import { compose, type Pipeline } from '../../src/data-plane/pipeline/compose.ts'
import { Exchange, type ExchangeInit } from '../../src/data-plane/pipeline/exchange.ts'
import type { Stage } from '../../src/data-plane/pipeline/stage.ts'
import type { BenchCase, Suite } from '../suite.ts'
import { type CallParts, callParts, freshCalls, withoutBackend } from './calls.ts'
import { signTokens, verifierOf } from './token/signed-tokens.ts'

const ACTIVE = 64
const IN_USE = 4096
const FIRST_SEEN = 8

const getOrder = (at: number): ExchangeInit['operation'] => ({
  action: 'tools.call',
  tool: 'get_order',
  arguments: { id: String(at) },
})

async function cases(): Promise<readonly BenchCase[]> {
  const signed = await signTokens('ES256', IN_USE)
  const tokens = signed.tokens.map(token => `Bearer ${token}`)
  const verifier = await verifierOf(signed)
  const parts = await callParts(verifier)
  const stages = withoutBackend(parts.stages)
  const pipeline = compose(stages, rethrow)
  // every caller has called before
  for (const init of freshCalls(parts.snapshot, tokens, getOrder)) await pipeline(new Exchange(init))
  const unseen = await signTokens('RS256', 16 * FIRST_SEEN)
  const unseenTokens = unseen.tokens.map(token => `Bearer ${token}`)
  const coldVerifier = await verifierOf(unseen)
  const cold = await callParts(coldVerifier)
  return [
    called('warm/call', pipeline, parts, turns(tokens, ACTIVE)),
    called('warm/call-4096', pipeline, parts, turns(tokens, IN_USE)),
    listed('warm/list', pipeline, parts, turns(tokens, ACTIVE)),
    responded('warm/call-answered', compose(parts.stages, rethrow), parts, turns(tokens, ACTIVE)),
    called(
      'cold/call',
      compose(withoutBackend(cold.stages), rethrow),
      cold,
      turns(unseenTokens, unseenTokens.length, FIRST_SEEN),
      () => {
        coldVerifier.clearCache()
        cold.snapshot.policy.clearCache()
      },
    ),
    json(),
    made(parts, turns(tokens, ACTIVE)),
    ...stages.map((stage, at) => alone(stage, stages.slice(0, at), parts, turns(tokens, ACTIVE))),
  ]
}

function called(
  id: string,
  pipeline: Pipeline,
  { snapshot }: CallParts,
  next: () => string[],
  before?: () => void,
): BenchCase {
  let calls: ExchangeInit[] = []
  return {
    id,
    perRun: next().length,
    ...(id.startsWith('warm/') ? { of: 'json' } : undefined),
    prepare() {
      before?.()
      calls = freshCalls(snapshot, next(), getOrder)
    },
    async run() {
      for (const init of calls) {
        const final = pipeline(new Exchange(init))
        // the first call with a token waits for the check of its signature
        const ended = isPending(final) ? await final : final
        if (ended?.kind !== 'reply') throw new Error('a wrong response')
      }
    },
  }
}

function listed(id: string, pipeline: Pipeline, { snapshot }: CallParts, next: () => string[]): BenchCase {
  let calls: ExchangeInit[] = []
  return {
    id,
    perRun: next().length,
    prepare() {
      calls = freshCalls(snapshot, next(), () => ({ action: 'tools.list' }))
    },
    async run() {
      for (const init of calls) {
        const exchange = new Exchange(init)
        const final = pipeline(exchange)
        // a list that takes long, as in a pause of the machine, goes on in a later turn
        if ((isPending(final) ? await final : final) !== undefined || exchange.listing?.tools.length !== 1)
          throw new Error('a wrong listing')
      }
    },
  }
}

/** With the request made, promises of the backend awaited, and its response turned into a result. */
function responded(id: string, pipeline: Pipeline, { snapshot }: CallParts, next: () => string[]): BenchCase {
  let calls: ExchangeInit[] = []
  return {
    id,
    perRun: next().length,
    prepare() {
      calls = freshCalls(snapshot, next(), getOrder)
    },
    async run() {
      for (const init of calls)
        if ((await pipeline(new Exchange(init)))?.kind !== 'reply') throw new Error('a wrong response')
    },
  }
}

/** A unit that is as slow as the machine is: the body of a call read and written by the library of the language. */
function json(): BenchCase {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 17,
    method: 'tools/call',
    params: { name: 'get_order', arguments: { id: '7', status: 'shipped', page: { size: 20, from: 40 } } },
  })
  return {
    id: 'json',
    perRun: ACTIVE,
    run() {
      for (let i = 0; i < ACTIVE; i++)
        if (JSON.stringify(JSON.parse(body)).length !== body.length) throw new Error('a wrong text')
    },
  }
}

/** What each exchange costs before any stage runs. */
function made({ snapshot }: CallParts, next: () => string[]): BenchCase {
  let calls: ExchangeInit[] = []
  return {
    id: 'stage/make-exchange',
    perRun: next().length,
    prepare() {
      calls = freshCalls(snapshot, next(), getOrder)
    },
    run() {
      for (const init of calls) if (new Exchange(init).startedAt <= 0) throw new Error('no clock')
    },
  }
}

/** One stage of the warm call, on exchanges that the stages before it have seen. */
function alone(
  stage: Stage,
  earlier: readonly Stage[],
  { snapshot }: CallParts,
  next: () => string[],
): BenchCase {
  let exchanges: Exchange[] = []
  return {
    id: `stage/${stage.id}`,
    perRun: next().length,
    prepare() {
      for (const { quota } of exchanges) quota?.release()
      exchanges = freshCalls(snapshot, next(), getOrder).map(init => {
        const exchange = new Exchange(init)
        for (const before of earlier) {
          const outcome = before.run(exchange)
          if (outcome !== undefined && !isPending(outcome)) exchange.final = outcome
        }
        return exchange
      })
    },
    run() {
      for (const exchange of exchanges) {
        const outcome = stage.run(exchange)
        if (isPending(outcome) || (outcome !== undefined && outcome.kind !== 'reply'))
          throw new Error(`a wrong outcome of ${stage.id}`)
      }
    },
  }
}

/** The next so many tokens of the first `inUse`, in turn. */
function turns(tokens: readonly string[], inUse: number, count = ACTIVE): () => string[] {
  let at = 0
  return () => {
    const first = at
    at = (at + count) % inUse
    return tokens.slice(first, first + count)
  }
}

function rethrow(error: unknown): never {
  throw error
}

export default {
  id: 'stages/pipeline',
  title:
    'One call of a tool through all stages (cached token, quota, decision, arguments, event, metrics), the backend apart; then each stage alone',
  cases,
} satisfies Suite
