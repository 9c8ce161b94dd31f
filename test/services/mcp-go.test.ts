/** The official Go client when refused, over both transports and paths; its whole life is a row of mcp-matrix.test.ts. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runClient, SEEN_OF_REFUSALS } from '../fixtures/client-process.ts'
import { opa } from '../fixtures/policy/author.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'
import { deployRefusing, type RefusingGateway } from '../fixtures/refusing-gateway.ts'

const CLIENT = resolve('.tools/go-mcp/mcp-client')
const missing = (!existsSync(CLIENT) || opa === undefined) && !servicesRequired()

const CASES = ['streamable', 'sse'].flatMap(kind => ['/mcp', '/mcp/sse'].map(path => [kind, path] as const))

describe.skipIf(missing)('the Go client (brought by scripts/services.sh go-mcp policy-tools)', () => {
  let gateway: RefusingGateway
  beforeAll(async () => {
    gateway = await deployRefusing()
  }, 120_000)
  afterAll(() => gateway?.stop())

  it.each(CASES)(
    '%s at %s sees why it is refused, and works on',
    async (kind, path) => {
      const token = await gateway.freshToken()
      const seen = await runClient([CLIENT, `${gateway.url}${path}`, token, kind, 'refused'])
      expect(seen).toMatchObject(SEEN_OF_REFUSALS)
    },
    60_000,
  )
})
