/** Work for a call that was cancelled before it begins: each wait ends at once. */
import { afterEach, expect, it } from 'vitest'
import { Cancellation } from '../../../src/base/cancellation.ts'
import type { Conversation } from '../../../src/data-plane/http/mcp/conversation.ts'
import type { RpcReply } from '../../../src/data-plane/http/mcp/result.ts'
import { TaskMethods } from '../../../src/data-plane/http/mcp/tasks/task-methods.ts'
import { MemorySessionStore } from '../../../src/data-plane/sessions/memory/store.ts'
import { ownerOf } from '../../../src/data-plane/sessions/owner.ts'
import { callWithToken } from '../../../src/data-plane/stages/5-invoke/backend-token.ts'
import { pause } from '../../../src/data-plane/stages/5-invoke/pause.ts'
import type { BackendAuthentication } from '../../../src/model/tool.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { BackendTokens } from '../../../src/net/egress/oauth/backend-tokens.ts'
import { aPrincipal, aTool, compiled, exchange } from '../../fixtures/exchange.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

function cancelled(): Cancellation {
  const cancellation = new Cancellation()
  cancellation.cancel()
  return cancellation
}

it('a pause', async () => {
  // it would otherwise outlast the test
  expect(await pause(600_000, cancelled())).toBeUndefined()
})

it('a call that needs a token of its backend, which is not called', async () => {
  const egress = createEgress({ allow: [], allowLoopback: true })
  closing.push(() => egress.close())
  const oauth = { tokenUrl: 'http://127.0.0.1:9/token', clientId: 'gateway', clientSecret: 'secret' }
  const authentication = { type: 'client_credentials', oauth } as unknown as BackendAuthentication
  const x = exchange({ cancellation: cancelled() })
  x.principal = aPrincipal()
  x.tool = compiled(aTool({ authentication }))
  const outcome = await callWithToken(new BackendTokens({ egress, now: Date.now }), x, x.cancellation, () =>
    Promise.reject(new Error('the backend is called')),
  )
  expect(outcome).toMatchObject({ kind: 'refusal', reason: 'cancelled' })
})

it('a request for the result of a task that still runs', async () => {
  const sessions = new MemorySessionStore({
    keys: undefined as never,
    ttlMs: 60_000,
    maxSessions: 1,
    now: () => 0,
  })
  closing.push(() => sessions.close())
  const x = exchange()
  x.principal = aPrincipal()
  const times = { createdAtMs: 0, updatedAtMs: 0, ttlMs: 60_000, aliveUntilMs: 60_000 }
  sessions.tasks.create({ id: 'a', owner: ownerOf(x.principal), status: 'working', ...times }, 10)
  const methods = new TaskMethods({
    sessions,
    nowMs: () => 0,
    access: { open: () => () => {} },
  } as unknown as ConstructorParameters<typeof TaskMethods>[0])
  const conversation = { version: '2025-11-25', transport: {}, cancellation: cancelled() }
  const reply = await methods.handle(
    { kind: 'request', id: 1, method: 'tasks/result', params: { taskId: 'a' } },
    conversation as unknown as Conversation,
    undefined as never,
    done => done(x),
  )
  expect(String((reply as RpcReply).body)).toContain('The request was cancelled.')
})
