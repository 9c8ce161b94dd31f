/** Clients of the matrix when a call is refused: what the user reads, and whether the session goes on. `CHECK=long` adds the clients of EXTRA. */
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ERROR_META_KEY } from '../../src/data-plane/http/refusal-body.ts'
import { IS_LONG_CHECK } from '../fixtures/check.ts'
import { runClient } from '../fixtures/client-process.ts'
import { CLIENT_PROGRAMS, installation, PYTHON_PROGRAMS } from '../fixtures/client-programs.ts'
import { meetAll, type Step } from '../fixtures/clients/refusals.mjs'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { connectClient, SECOND_GENERATION } from '../fixtures/mcp-clients.ts'
import { opa } from '../fixtures/policy/author.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'
import {
  ALLOWED,
  ALLOWED_PER_MINUTE,
  DENIAL,
  DENIED_TOOL,
  deployRefusing,
  type RefusingGateway,
} from '../fixtures/refusing-gateway.ts'
import { type RefusingLink, startRefusingLink } from '../fixtures/refusing-link.ts'

/** Nothing listens there, so that tokens of this issuer cannot be verified. */
const UNAVAILABLE_ISSUER = 'http://127.0.0.1:9'

let gateway: RefusingGateway
let unavailable: Deployment
let link: RefusingLink
const missing = opa === undefined && !servicesRequired()
beforeAll(async () => {
  if (missing) return
  gateway = await deployRefusing()
  unavailable = await deploy({
    AUTH_ISSUER: UNAVAILABLE_ISSUER,
    EXAMPLE: 'false',
  })
  link = await startRefusingLink(gateway.url, {
    shop_getCustomer: { token: await gateway.unlimitedToken(undefined, '1m ago') },
    shop_createCustomer: { token: await gateway.unlimitedToken({ scope: 'platform:read' }) },
    shop_getCart: {
      token: await gateway.unlimitedToken(undefined, '5m', UNAVAILABLE_ISSUER),
      endpoint: `${unavailable.url}/mcp`,
    },
  })
}, 120_000)
afterAll(async () => {
  await link?.close()
  await unavailable?.stop()
  await gateway?.stop()
})

async function steps(): Promise<Step[]> {
  const token = await gateway.unlimitedToken()
  const customer = { name: 'Ada', email: 'ada@example.com' }
  return [
    { label: 'denied', token, name: DENIED_TOOL, arguments: { orderId: 'O-5001' } },
    { label: 'limited', token: await gateway.freshToken(), ...ALLOWED },
    { label: 'failed', token, name: 'shop_failOnPurpose', arguments: {} },
    { label: 'scope', token, name: 'shop_createCustomer', arguments: { body: customer } },
    { label: 'expired', token, name: 'shop_getCustomer', arguments: { customerId: 'K-1' } },
    { label: 'unavailable', token, name: 'shop_getCart', arguments: { customerId: 'K-1' } },
  ]
}

interface Seen {
  readonly result?: string
  readonly meta?: object
  readonly error?: string
  readonly lives: boolean
}

/** What a user reads, and whether a library shows the refusal as a result or as an error. */
const READABLE = {
  denied: DENIAL,
  limited: `Per-minute limit of ${ALLOWED_PER_MINUTE} requests exceeded.`,
  failed: 'The backend responded with status 500',
  scope: 'The request needs the scope execute.',
  expired: 'The token has expired.',
  unavailable: 'The signing keys of the identity provider are unavailable.',
}
type Label = keyof typeof READABLE
const RESULTS: ReadonlySet<string> = new Set(['denied', 'limited', 'failed'] satisfies Label[])
const META: { readonly [label: string]: object } = {
  denied: { [ERROR_META_KEY]: { error: 'forbidden', reasons: [{ code: 'orders_closed' }] } },
  limited: { [ERROR_META_KEY]: { error: 'quota_exceeded' } },
}

interface Defect {
  readonly reads?: RegExp
  readonly lives?: false
}
type Defects = { readonly [label in Label]?: Defect }

/** It ends its session on an HTTP status of 400 or more, and keeps nothing of the body. */
const ENDS_SESSION: Defects = {
  scope: { reads: /403 Forbidden/, lives: false },
  expired: { reads: /401 Unauthorized/, lives: false },
  unavailable: { reads: /503 Service Unavailable/, lives: false },
}
/** The end of its sending goes unnoticed: calls wait until their time is up. */
const WAITS: Defects = {
  expired: { reads: /Timeout/, lives: false },
  unavailable: { reads: /Timeout/, lives: false },
}

/** What a library itself does otherwise with an HTTP status of 400 or more; refusals that come as a result reach the user of every one. */
const DEFECTS: { readonly [client: string]: Defects } = {
  'Go, streamable': { unavailable: { reads: /Service Unavailable/ } },
  'Go, SSE': {
    expired: { reads: /401 Unauthorized/, lives: false },
    unavailable: { reads: /503 Service Unavailable/, lives: false },
  },
  'Java, streamable': { scope: { reads: /Authorization error/ }, expired: { reads: /Authorization error/ } },
  'Rust (rmcp), initialize': { scope: { reads: /Insufficient scope/ }, expired: { reads: /Auth required/ } },
  'Rust (rmcp), auto': { scope: { reads: /Insufficient scope/ }, expired: { reads: /Auth required/ } },
  // it begins a login, which ends at once, because the documents name the address of the gateway and not of the link
  'mcp-remote': {
    scope: { reads: /does not match expected/ },
    expired: { reads: /does not match expected/ },
  },
  'LangChain adapters': ENDS_SESSION,
  'Python 1.x, streamable': ENDS_SESSION,
  'Python 1.x, SSE': WAITS,
  'Python 2.x, SSE': WAITS,
  'TypeScript v2, streamable legacy': {
    scope: { reads: /^Insufficient scope: required "platform:execute / },
  },
  'TypeScript v2, streamable auto': { scope: { reads: /^Insufficient scope: required "platform:execute / } },
}

/** Only with CHECK=long. */
const EXTRA: ReadonlySet<string> = new Set([
  'Go, SSE',
  'Java, SSE',
  'Rust (rmcp), auto',
  'LangChain adapters',
  '@ai-sdk/mcp, SSE',
  'Python 1.x, SSE',
  'Python 2.x, streamable',
  'Python 2.x, SSE',
])
const isRun = (name: string): boolean => IS_LONG_CHECK || !EXTRA.has(name)

function expectRefusals(client: string, seen: { readonly [label: string]: unknown }): void {
  for (const [label, text] of Object.entries(READABLE)) {
    const { result, error, meta, lives } = seen[label] as Seen
    const defect = DEFECTS[client]?.[label as Label] ?? {}
    const reads = defect.reads ? expect.stringMatching(defect.reads) : expect.stringContaining(text)
    const read = RESULTS.has(label) ? result : error
    expect.soft({ read, lives }, label).toEqual({ read: reads, lives: defect.lives ?? true })
    if (META[label] !== undefined) expect.soft(meta, label).toMatchObject(META[label])
  }
}

describe.skipIf(missing)('refusals', { timeout: 150_000 }, () => {
  for (const [name, program] of Object.entries({ ...CLIENT_PROGRAMS, ...PYTHON_PROGRAMS })) {
    if (!isRun(name)) continue
    const { missing, hint } = installation(program)
    it.skipIf(missing)(`${name}${hint}`, async () => {
      const scenario = JSON.stringify(await steps())
      const seen = await runClient([...program.command, `${link.url}/mcp`, 'none', program.kind, scenario])
      expectRefusals(name, seen)
    })
  }

  const noSecond = !existsSync(SECOND_GENERATION) && !servicesRequired()
  const hint = noSecond ? ' (skipped: scripts/services.sh conformance)' : ''
  for (const [generation, kind, mode] of [
    [1, 'streamable', undefined],
    [1, 'sse', undefined],
    [2, 'streamable', 'legacy'],
    [2, 'streamable', 'auto'],
    [2, 'sse', undefined],
  ] as const) {
    const name = `TypeScript v${generation}, ${kind}${mode === undefined ? '' : ` ${mode}`}`
    it.skipIf(generation === 2 && noSecond)(`${name}${generation === 2 ? hint : ''}`, async () => {
      let seen = {}
      const connect = async (token: string) => {
        const client = await connectClient(generation, kind, `${link.url}/mcp`, token, mode)
        return { call: client.call, list: client.list, close: client.end }
      }
      await meetAll(await steps(), connect, what => {
        seen = { ...seen, ...what }
      })
      expectRefusals(name, seen)
    })
  }
})
