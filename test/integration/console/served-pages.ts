/** The pages of console and connections at a test provider, with a clock: what the tests of their sessions share. No browser runs. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { createSealer } from '../../../src/base/secrets/sealer.ts'
import { createConnections } from '../../../src/console/connections.ts'
import { type Console, createConsole } from '../../../src/console/console.ts'
import { fileMarks } from '../../../src/console/file-marks.ts'
import { OAuthClient } from '../../../src/console/oauth-client.ts'
import type { SessionMarks } from '../../../src/console/session-marks.ts'
import { principal } from '../../../src/model/principal.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import type { Egress } from '../../../src/net/egress/egress.ts'

export const ORIGIN = 'http://localhost:9999'
const HOUR_MS = 3_600_000
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
/** Its issuer is the provider behind the gateway. */
const ID_TOKEN = `${encoded({ alg: 'RS256' })}.${encoded({ iss: 'http://provider.example', sub: 'ada', aud: 'console' })}.c2ln`

/** Errors of the token endpoint, by status. */
const ERRORS: { readonly [status: number]: string } = { 400: 'invalid_grant', 401: 'invalid_client' }

/** The OAuth endpoints of a gateway, with refresh tokens that may be used once. */
let provider: Server
let egress: Egress
let folder: string

/** The provider and what the pages are given, as the test sets it, and what they did. */
export const world = {
  served: undefined as unknown as Console,
  pages: undefined as unknown as (request: Request) => Promise<Response>,
  oauth: undefined as unknown as OAuthClient,
  marks: undefined as unknown as SessionMarks,
  nowMs: 0,
  /** Refresh tokens that were used. */
  refreshes: [] as string[],
  /** Status of the responses of the provider. */
  status: 200,
  /** Statuses of the next responses of the revocation endpoint; then 200. */
  revocations: [] as number[],
  /** Tokens that were revoked at the provider. */
  revoked: [] as string[],
  /** Whether each message says that the revocation is tried again. */
  unrevoked: [] as boolean[],
  /** Event streams of the control plane that were ended. */
  streamsEnded: 0,
  /** Bodies of token responses wait for it. */
  held: undefined as Promise<void> | undefined,
  isStoreAvailable: true,
  /** The public address that the gateway names. */
  issuer: '',
  /** Bodies of the requests for tokens. */
  forms: [] as URLSearchParams[],
  /** Tokens of the requests that reached the control plane. */
  tokens: [] as (string | null)[],
  /** What the pages report of sessions, and why it is refused. */
  events: [] as string[],
  /** Requests for the metadata of the gateway. */
  documents: 0,
  /** Clients that were registered. */
  registrations: 0,
}

/** Serves the pages to the tests of the file that calls this, each with a world as new. */
export function servePages(): void {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sessions-'))
    provider = createServer((request, response) => {
      let body = ''
      request.on('data', piece => {
        body += piece
      })
      request.on('end', () => {
        const json = (value: object, success = 200): void => {
          response.writeHead(world.status === 200 ? success : world.status, {
            'content-type': 'application/json',
          })
          response.end(JSON.stringify(value))
        }
        if (request.url === '/oauth/register') {
          world.registrations++
          return json({ client_id: 'console' }, 201)
        }
        if (request.url === '/oauth/revoke') {
          const failed = world.revocations.shift()
          response.writeHead(failed ?? 200, { 'content-type': 'application/json' })
          if (failed === undefined) world.revoked.push(new URLSearchParams(body).get('token')!)
          return response.end(failed === undefined ? '{}' : '{"error":"server_error"}')
        }
        if (request.url !== '/oauth/token') world.documents++
        if (request.url !== '/oauth/token')
          return json({ issuer: world.issuer, authorization_endpoint: 'http://provider.example/auth' })
        if (world.status !== 200) return json({ error: ERRORS[world.status] ?? 'server_error' })
        const form = new URLSearchParams(body)
        world.forms.push(form)
        const refresh = form.get('refresh_token')
        if (refresh !== null) world.refreshes.push(refresh)
        const number = world.refreshes.length
        const send = (): void =>
          json({
            access_token: `access-${number}`,
            token_type: 'Bearer',
            refresh_token: `refresh-${number}`,
            expires_in: 300,
            id_token: ID_TOKEN,
          })
        if (world.held === undefined) send()
        else void world.held.then(send)
      })
    }).listen(0, '127.0.0.1')
    await once(provider, 'listening')
    egress = createEgress({ allow: [], allowLoopback: true })
  })
  afterAll(async () => {
    await egress.close()
    provider.close()
    rmSync(folder, { recursive: true, force: true })
  })
  beforeEach(() => {
    Object.assign(world, {
      ...{ nowMs: Date.parse('2026-11-22T12:00:00Z'), status: 200, held: undefined, isStoreAvailable: true },
      ...{ refreshes: [], revocations: [], revoked: [], unrevoked: [], forms: [], tokens: [], events: [] },
      ...{ streamsEnded: 0, documents: 0, registrations: 0 },
    })
    world.marks = fileMarks(mkdtempSync(join(folder, 'marks-')), () => world.nowMs)
    open(`http://127.0.0.1:${(provider.address() as AddressInfo).port}`, undefined)
  })
}

/** @param publicUrl of the console */
export function open(gatewayUrl: string, publicUrl: string | undefined): void {
  const gatewayAddress = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  world.issuer = gatewayUrl
  const shared = {
    sealer: createSealer('a key of this test'),
    marks: {
      put: (mark: string, untilMs: number) => world.marks.put(mark, untilMs),
      has: (mark: string) => world.marks.has(mark),
    },
    onFault: () => {},
    onUnrevoked: (_: string, isTriedAgain: boolean) => void world.unrevoked.push(isTriedAgain),
    onSession: (event: string, _: Request, error?: string) =>
      void world.events.push(error === undefined ? event : `${event}: ${error}`),
    egress,
    verifier: {
      verify: () =>
        principal({
          kind: 'token',
          subject: 'ada',
          consumer: 'console',
          tenant: 'acme',
          roles: [],
          scopes: ['read'],
          subscriptionId: undefined,
          expiresAtMs: world.nowMs + HOUR_MS,
        }),
      ready: true,
      clearCache: () => 0,
      close() {},
    },
    gatewayAddress,
    gatewayUrl,
    pagesUrl: gatewayAddress,
    clientId: undefined,
    now: () => world.nowMs,
  }
  world.oauth = new OAuthClient(shared)
  world.pages = createConnections({
    ...shared,
    book: {
      async list() {
        if (!world.isStoreAvailable) throw new Error('the store is unavailable')
        return [{ id: 'platform/mail', name: 'mail', host: 'mail.example', connectedAtMs: undefined }]
      },
      begin: (_, id) =>
        id === 'platform/mail'
          ? { url: 'https://mail.example/authorize', state: 's', verifier: 'v', key: 'k' }
          : undefined,
      complete: async () => undefined,
      disconnect: async () => {},
    },
  })
  world.served = createConsole({
    ...shared,
    publicUrl,
    hasProvider: true,
    demoClients: [{ id: 'demo-admin', secret: 'demo' }],
    version: '0',
    controlPlane: {
      async fetch(request) {
        world.tokens.push(request.headers.get('authorization'))
        if (request.headers.get('accept') === 'text/event-stream')
          return new Response(new ReadableStream({ cancel: () => void world.streamsEnded++ }), {
            headers: { 'content-type': 'text/event-stream' },
          })
        return Response.json({})
      },
      permissions: async () => Response.json({}),
    },
  })
}

export const cookiesOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map(each => each.split(';')[0])
    .filter(each => !/^[^=]+=$/.test(each!))
    .join('; ')
export const get = (path: string, cookie = '') =>
  world.served.fetch(new Request(`${ORIGIN}/console/${path}`, { headers: { cookie } }))

/** @param returned query of the return, to which the state is added. @returns where the browser is sent */
export async function returnWith(returned: string): Promise<URL> {
  const begun = await get('login')
  const state = new URL(begun.headers.get('location')!).searchParams.get('state')
  const response = await get(`callback?${returned}&state=${state}`, cookiesOf(begun))
  return new URL(response.headers.get('location')!)
}

export async function signIn(): Promise<string> {
  const begun = await get('login')
  const state = new URL(begun.headers.get('location')!).searchParams.get('state')
  return cookiesOf(await get(`callback?code=c&state=${state}`, cookiesOf(begun)))
}

export const use = (cookie: string) => get('api/control/v1/plans', cookie)
