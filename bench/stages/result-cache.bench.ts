/** A cached result, its canonical key included, beside lru-cache with a key of JSON.stringify. */

import { LRUCache } from 'lru-cache'
import { isPending } from '../../src/base/and-then.ts'
import type { Exchange } from '../../src/data-plane/pipeline/exchange.ts'
import { ResultCache } from '../../src/data-plane/stages/5-invoke/result-cache.ts'
import type { ToolResult } from '../../src/model/tool.ts'
import { aPrincipal, aSnapshot, aTool, exchange } from '../../test/fixtures/exchange.ts'
import type { BenchCase, Suite } from '../suite.ts'

const SHOWN = 64
const CACHED = 1024
const RESULT: ToolResult = { content: [{ type: 'text', text: '{"id":"7"}' }], isError: false }

type Arguments = { readonly [name: string]: unknown }

/** As JSON.parse makes them, members in no order. */
const argumentsOf = (at: number): Arguments =>
  JSON.parse(`{"status":"shipped","id":"order-${at}","page":{"size":20,"from":${at}}}`) as Arguments

async function cases(): Promise<readonly BenchCase[]> {
  const snapshot = aSnapshot({
    tools: [
      aTool({
        cache: { ttlMs: 3_600_000 },
        inputSchema: {
          type: 'object',
          properties: {
            id: { type: 'string' },
            status: { type: 'string' },
            page: { type: 'object' },
            sort: { default: 'date' },
          },
        },
      }),
    ],
  })
  const tool = snapshot.toolsOf('acme').get('get_order')!
  const principal = aPrincipal()
  const asked = (at: number): Exchange => {
    const one = exchange({
      snapshot,
      operation: { action: 'tools.call', tool: 'get_order', arguments: argumentsOf(at) },
    })
    return Object.assign(one, { tool, principal, tenant: 'acme' })
  }
  const cache = new ResultCache()
  const lru = new LRUCache<string, ToolResult>({ max: 10_000, ttl: 3_600_000 })
  const libraryKey = ({ operation }: Exchange): string =>
    operation.action === 'tools.call' ? `${operation.tool} ${JSON.stringify(operation.arguments)}` : ''
  for (let at = 0; at < CACHED; at++) {
    const one = asked(at)
    await cache.respond(one, async () => ({ kind: 'reply', result: RESULT }))
    lru.set(libraryKey(one), RESULT)
  }
  const each = (id: string, look: (one: Exchange) => void, of?: string): BenchCase => {
    let exchanges: Exchange[] = []
    let first = 0
    return {
      id,
      perRun: SHOWN,
      ...(of === undefined ? undefined : { of }),
      prepare() {
        exchanges = Array.from({ length: SHOWN }, (_, at) => asked(first + at))
        first = (first + SHOWN) % CACHED
      },
      run() {
        for (const one of exchanges) look(one)
      },
    }
  }
  const notKept = (): never => {
    throw new Error('a miss')
  }
  return [
    each(
      'hit',
      one => {
        const outcome = cache.respond(one, notKept)
        if (
          outcome === undefined ||
          isPending(outcome) ||
          outcome.kind !== 'reply' ||
          outcome.result !== RESULT
        )
          throw new Error('a wrong response')
      },
      'lru-cache',
    ),
    each('lru-cache', one => {
      if (lru.get(libraryKey(one)) !== RESULT) throw new Error('a wrong response')
    }),
  ]
}

export default {
  id: 'stages/result-cache',
  title:
    'A cached result by its canonical key; the library by JSON.stringify, which distinguishes orders of members and leaves defaults out',
  cases,
} satisfies Suite
