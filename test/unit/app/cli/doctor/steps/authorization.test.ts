/** The authorization request of `toolgate doctor` along redirects between hosts, over real connections. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { authorization } from '../../../../../../src/app/cli/doctor/steps/authorization.ts'
import type { Visit } from '../../../../../../src/app/cli/doctor/visit.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

type Respond = (request: IncomingMessage, response: ServerResponse) => void

async function serving(host: string, respond: Respond): Promise<string> {
  const server = createServer(respond)
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://${host}:${(server.address() as AddressInfo).port}`
}

const visitOf = (provider: string): Visit =>
  ({
    url: 'http://tools.example/mcp',
    scope: '',
    server: { authorizationEndpoint: `${provider}/authorize` },
    registered: { clientId: 'c' },
    client: { redirectUris: ['http://127.0.0.1:8765/callback'] },
  }) as unknown as Visit

it('names a redirect to an address that is not valid', async () => {
  const provider = await serving('127.0.0.1', (_, response) => {
    response.writeHead(302, { location: 'http://[x' }).end()
  })
  await expect(authorization.run(visitOf(provider))).rejects.toMatchObject({
    name: 'Fault',
    found: `${provider} redirects to "http://[x", which is not a valid URL.`,
    fix: expect.stringContaining('identity provider'),
  })
})

it('sends the cookies of each host to that host only', async () => {
  const seen: string[] = []
  const note = (at: string, { headers }: IncomingMessage): void => {
    seen.push(`${at}: ${headers.cookie ?? '-'}`)
  }
  const federated = await serving('localhost', (request, response) => {
    const { pathname } = new URL(request.url!, 'http://localhost')
    note(`federated ${pathname}`, request)
    if (pathname === '/page') return void response.end('<form>')
    response.writeHead(302, { location: '/page', 'set-cookie': 'there=2; Path=/; HttpOnly' }).end()
  })
  const provider = await serving('127.0.0.1', (request, response) => {
    const { pathname } = new URL(request.url!, 'http://127.0.0.1')
    note(`provider ${pathname}`, request)
    const location = pathname === '/authorize' ? '/broker' : `${federated}/login`
    response.writeHead(302, { location, 'set-cookie': 'session=1; Path=/; HttpOnly' }).end()
  })
  await expect(authorization.run(visitOf(provider))).resolves.toEqual({ facts: ['The login page opens.'] })
  expect(seen).toEqual([
    'provider /authorize: -',
    'provider /broker: session=1',
    'federated /login: -',
    'federated /page: there=2',
  ])
})
