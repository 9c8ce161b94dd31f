/** Several threads on one port behave as one gateway: calls, limits, sessions, streams, configuration, a crash in the middle. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'

const THREADS = 3
const CALL = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }

describe(`a gateway of ${THREADS} threads`, () => {
  let gateway: Deployment
  let token: string
  beforeAll(async () => {
    gateway = await deploy({ WORKERS: String(THREADS), TEST_HOOKS: '1' })
    token = await gateway.token('demo-admin')
  }, 120_000)
  afterAll(() => gateway?.stop())

  it('answers calls', async () => {
    const answer = await gateway.post('/mcp/tools/call', CALL, token)
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('P-1001')])
  })
})
