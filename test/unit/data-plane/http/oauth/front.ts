/** The OAuth endpoints over a real egress client, for the provider that a test starts. No mocks, no assertions. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createOAuthFront, type OAuthFrontOptions } from '../../../../../src/data-plane/http/oauth/front.ts'
import type { OAuthResponse } from '../../../../../src/data-plane/http/oauth/oauth-response.ts'
import { createEgress } from '../../../../../src/net/egress/client.ts'
import { SILENT } from '../../../../../src/telemetry/log.ts'

export const GATEWAY = 'http://localhost:8080'
export const FORM = 'application/x-www-form-urlencoded'

export function frontOf(issuer: string | undefined, more: Partial<OAuthFrontOptions> = {}) {
  const egress = createEgress({ allow: [], allowLoopback: true })
  const front = createOAuthFront({
    gatewayUrl: GATEWAY,
    issuer,
    egress,
    admin: undefined,
    guarded: false,
    log: SILENT,
    ...more,
  })
  return { front, egress, close: () => egress.close() }
}

export interface Read {
  readonly status: number
  readonly headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any
}

/** Headers as an object, body parsed. @throws Error for a header that stands twice, and without a response */
export function read(reply: OAuthResponse | undefined): Read {
  if (reply === undefined) throw new Error('no response')
  const headers: Record<string, string> = {}
  for (let at = 0; at < reply.headers.length; at += 2) {
    const name = reply.headers[at]!
    if (name in headers) throw new Error(`header ${name} stands twice`)
    headers[name] = reply.headers[at + 1]!
  }
  const text = Buffer.from(reply.body).toString()
  return { status: reply.status, headers, body: text === '' ? undefined : JSON.parse(text) }
}

export interface Provider {
  readonly issuer: string
  readonly received: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[]
  close(): Promise<void>
}

/** A provider that returns what a test specifies, for cases that a correct one never shows. */
export async function providerThat(
  respond: (
    request: { method: string; url: string; body: string; issuer: string },
    response: ServerResponse,
  ) => void,
): Promise<Provider> {
  const received: Provider['received'] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const seen = {
        method: request.method!,
        url: request.url!,
        headers: request.headers,
        body: Buffer.concat(chunks).toString('latin1'),
      }
      received.push(seen)
      respond({ ...seen, issuer }, response)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/realms/x`
  return {
    issuer,
    received,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
