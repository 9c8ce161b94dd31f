/** Discovers the token endpoint of a deployment, and requests tokens of development clients. */
import { type DemoExchange, exchange } from './exchange.ts'
import { expect, expectStatus, field } from './expect.ts'
import type { Transcript } from './transcript.ts'

const OK = 200
const NOT_FOUND = 404

/** RFC 9728 document of the gateway → RFC 8414 document of its authorization server → token endpoint. */
export async function findTokenEndpoint(
  url: string,
  authUrl: string,
  transcript: Transcript,
): Promise<string> {
  const resource = await read(`${url}/.well-known/oauth-protected-resource`, transcript)
  if (resource.status === NOT_FOUND) {
    transcript.note(`The gateway names no authorization server. The demo uses ${authUrl} instead.`)
    return tokenEndpointOf(await read(`${authUrl}/.well-known/openid-configuration`, transcript), authUrl)
  }
  expectStatus(resource, OK)
  const servers = field(resource, 'authorization_servers')
  const server = Array.isArray(servers) ? servers[0] : undefined
  expect(
    typeof server === 'string' && URL.canParse(server),
    'authorization_servers to contain a URL',
    resource.response,
  )
  const { origin, pathname } = new URL(server)
  // RFC 8414 §3.1: the well-known part goes between host and path
  const path = pathname === '/' ? '' : pathname
  return tokenEndpointOf(
    await read(`${origin}/.well-known/oauth-authorization-server${path}`, transcript),
    server,
  )
}

async function read(url: string, transcript: Transcript): Promise<DemoExchange> {
  const found = await exchange({ method: 'GET', url, headers: { accept: 'application/json' } })
  transcript.show(found)
  return found
}

function tokenEndpointOf(document: DemoExchange, issuer: string): string {
  expectStatus(document, OK)
  // RFC 8414 §3.3: a document of another issuer must not be used
  expect(field(document, 'issuer') === issuer, `issuer to be ${issuer}`, field(document, 'issuer'))
  const endpoint = field(document, 'token_endpoint')
  expect(typeof endpoint === 'string' && URL.canParse(endpoint), 'a token_endpoint', document.response)
  return endpoint
}

/** Client credentials (RFC 6749 §4.4) of a seeded development client. @returns the access token */
export async function getToken(
  endpoint: string,
  client: string,
  transcript: Pick<Transcript, 'show'>,
): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: client,
    client_secret: `${client}-secret`,
  })
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
  const responded = await exchange({ method: 'POST', url: endpoint, headers, body })
  transcript.show(responded)
  expectStatus(responded, OK)
  const token = field(responded, 'access_token')
  expect(
    typeof token === 'string' && token.split('.').length === 3,
    'access_token to be a JWT',
    responded.response,
  )
  expect(field(responded, 'token_type') === 'Bearer', 'token_type Bearer', field(responded, 'token_type'))
  return token
}
