/** The official Go client with its defaults, over both transports and paths: it probes for the modern era first, and what it does when refused. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runClient, SEEN_OF_REFUSALS } from '../fixtures/client-process.ts'
import { opa } from '../fixtures/policy/author.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'
import { deployRefusing, type RefusingGateway } from '../fixtures/refusing-gateway.ts'

const CLIENT = resolve('.tools/go-mcp/mcp-client')
const missing = (!existsSync(CLIENT) || opa === undefined) && !servicesRequired()

/** Transport, and the version it settles on: on a stream of the oldest transport the probe for the modern era fails. */
const KINDS = [
  ['streamable', '2026-07-28'],
  ['sse', '2025-11-25'],
] as const
const CASES = KINDS.flatMap(([kind, version]) =>
  ['/mcp', '/mcp/sse'].map(path => [kind, path, version] as const),
)

describe.skipIf(missing)('the Go client (brought by scripts/services.sh go-mcp policy-tools)', () => {
  let gateway: RefusingGateway
  beforeAll(async () => {
    gateway = await deployRefusing()
  }, 120_000)
  afterAll(() => gateway?.stop())

  it.each(CASES)(
    '%s at %s connects as %s, lists and calls',
    async (kind, path, version) => {
      const token = await gateway.freshToken()
      const seen = await runClient([CLIENT, `${gateway.url}${path}`, token, kind, 'life'])
      expect(seen).toMatchObject({ protocol: version, called: true, closed: true })
      expect(seen.tools).toContain('shop_listProducts')
    },
    60_000,
  )

  it.each(CASES)(
    '%s at %s (%s) sees why it is refused, and works on',
    async (kind, path) => {
      const token = await gateway.freshToken()
      const seen = await runClient([CLIENT, `${gateway.url}${path}`, token, kind, 'refused'])
      expect(seen).toMatchObject(SEEN_OF_REFUSALS)
    },
    60_000,
  )
})
