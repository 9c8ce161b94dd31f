/** What an administrator and the log receive when an endpoint of the admin API fails, and what the public health endpoint shows of a fault. */
import { expect, it } from 'vitest'
import { serveAdmin } from '../../../../../src/data-plane/http/admin/admin-call.ts'
import type { Call } from '../../../../../src/data-plane/http/call.ts'
import { ParameterFault } from '../../../../../src/data-plane/http/call-parameters.ts'
import type { GatewayParts } from '../../../../../src/data-plane/http/gateway.ts'
import { mcpHealth } from '../../../../../src/data-plane/http/health.ts'
import type { RestTools } from '../../../../../src/data-plane/http/rest.ts'
import type { Refusal } from '../../../../../src/model/refusal.ts'
import { aSnapshot } from '../../../../fixtures/exchange.ts'

const SNAPSHOT = aSnapshot()
const call = {
  notices: [],
  requestId: 'req-1',
  credentials: { authorization: '', apiKey: '', tenant: '' },
  request: { contentLength: 0, header: () => '' },
} as unknown as Call

async function served(error: Error) {
  const logged: unknown[] = []
  const refused: Refusal[] = []
  const gateway = {
    pipeline: () => undefined,
    attempts: { countFailure() {} },
    log: { error: (...line: unknown[]) => logged.push(line) },
  } as unknown as GatewayParts
  const rest = { refuse: (_: Call, refusal: Refusal) => refused.push(refusal) } as unknown as RestTools
  await serveAdmin(gateway, rest, call, SNAPSHOT, 'cache', async () => {
    throw error
  })
  return { logged, refused }
}

it('an error that no code expected is in the log with the id of the request, and not in the response', async () => {
  const error = new Error('too many administrator actions wait to be recorded')
  const { logged, refused } = await served(error)
  expect(logged).toEqual([[{ err: error, resource: 'cache', request_id: 'req-1' }, expect.any(String)]])
  expect(refused).toMatchObject([{ reason: 'internal_error' }])
  expect(JSON.stringify(refused)).not.toContain(error.message)
})

it('no response may be kept by a browser or a proxy', async () => {
  await served(new ParameterFault('limit must be a number.'))
  expect(call.notices).toEqual(['cache-control', 'no-store'])
})

it('a parameter that is not valid is in the response, and not in the log', async () => {
  const { logged, refused } = await served(new ParameterFault('limit must be a number.'))
  expect(logged).toEqual([])
  expect(refused).toMatchObject([{ reason: 'invalid_request', message: 'limit must be a number.' }])
})

it.each([
  ['consumer "bank" has plan "gold", which does not exist', [], ['configuration']],
  ['consumer "bank" has plan "gold", which does not exist', ['quota'], ['configuration', 'quota']],
  [undefined, ['files', 'policies of tenants'], ['files', 'policies of tenants']],
  [undefined, [], undefined],
])('the public health names of %s and %j only the parts', async (snapshotFault, faultyParts, named) => {
  const bodies: { status: string; reason?: string; parts?: string[] }[] = []
  const parts = {
    sessions: { statistics: async () => ({ active_sessions: 0 }) },
    snapshot: () => SNAPSHOT,
    snapshotFault: () => snapshotFault,
    faultyParts: () => faultyParts,
    keysReady: () => true,
    memoryFull: () => false,
    draining: () => false,
    version: '1',
  } as unknown as GatewayParts
  const asked = { receivedAtMs: 0, respond: (_: number, body: (typeof bodies)[0]) => bodies.push(body) }
  await mcpHealth(parts, asked as unknown as Call)
  const [{ status, reason, parts: shown }] = bodies as [(typeof bodies)[0]]
  expect([status, shown]).toEqual([named === undefined ? 'healthy' : 'degraded', named])
  expect(reason ?? '').not.toMatch(/bank|gold/)
  for (const part of faultyParts) expect(reason).toContain(part)
  if (snapshotFault !== undefined) expect(reason).toContain('newest configuration is not served')
})
