/** The identity provider behind the fault proxy: new keys get 503 until it is back and are fetched then, no token is called invalid, known keys stay valid. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { makeKey, nowSecs, sign, type TestKey } from '../unit/identity/provider.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { runTable } from './run-table.ts'
import { prepareSubject } from './subject.ts'
import { IDENTITY_PROVIDER } from './tables/identity-provider.ts'
import { breakProxy, type Called, type World } from './world.ts'

async function open(): Promise<World> {
  const extra: TestKey[] = []
  let proxy: FaultProxy | undefined
  let providerPort = 0
  /** The embedded provider, whose key set also has keys that the test adds. */
  const front = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
    const onward = await fetch(`http://127.0.0.1:${providerPort}${request.url}`, {
      method: request.method!,
      headers: headers as Record<string, string>,
      ...(body === '' ? {} : { body }),
    })
    let text = await onward.text()
    if (text.startsWith('{"keys"')) {
      const { keys } = JSON.parse(text) as { keys: object[] }
      text = JSON.stringify({ keys: [...keys, ...extra.map(({ jwk }) => jwk)] })
    }
    response.writeHead(onward.status, { 'content-type': onward.headers.get('content-type') ?? 'text/plain' })
    response.end(text)
  })
  await new Promise<void>(resolve => front.listen(0, '127.0.0.1', resolve))
  const subject = await prepareSubject({
    async providerUrl(port) {
      providerPort = port
      proxy = await startFaultProxy(`http://127.0.0.1:${(front.address() as AddressInfo).port}`)
      return `http://127.0.0.1:${proxy.port}`
    },
  })
  const { issuer } = subject.provider
  const breakable = breakProxy(proxy!)
  let token = subject.token
  let rotations = 0
  /** Whether this process has accepted a token of a known key: from then on it must accept every one. */
  let areKeysLoaded = false
  /** Responses to such tokens that were not 200. */
  let refusedKnown: Called[] = []
  /** From here on the gateway meets a key that it has not seen. */
  async function rotate(): Promise<void> {
    const key = await makeKey('ES256', `rotated-${rotations++}`)
    extra.push(key)
    token = await sign(key, {
      iss: issuer,
      aud: 'platform-mcp-gateway',
      sub: 'demo-agent',
      azp: 'demo-agent',
      scope: 'platform:read platform:execute',
      tenant_id: 'acme',
      iat: nowSecs(),
      exp: nowSecs() + 600,
    })
  }
  return {
    subject: subject.process,
    dependency: {
      async apply(fault) {
        await breakable.apply(fault)
        await rotate()
      },
      restore: () => breakable.restore(),
    },
    maxCallMs: 4_000,
    async call() {
      const mustAccept = areKeysLoaded
      const [fresh, known] = await Promise.all([subject.callTool('fast', token), subject.callTool('fast')])
      if (known.status === 200) areKeysLoaded = true
      else if (mustAccept) refusedKnown.push(known)
      // before the first keys no token can be verified; none is ever called invalid
      return fresh.status === 401 || known.status === 200 || known.status === fresh.status ? fresh : known
    },
    longCall: () => subject.callTool('slow'),
    longCalls: subject.slowCalls,
    isFine: ({ status }) => status === 200,
    see: () => subject.see('identity provider'),
    async begin({ moment }) {
      token = subject.token
      refusedKnown = []
      areKeysLoaded = false
      // the gateway fetches keys for an unknown one twice a minute at most
      if (moment === 'start') return
      await subject.process.end('SIGTERM')
      await subject.process.start()
      await expect.poll(async () => (await subject.callTool('fast')).status, { timeout: 20_000 }).toBe(200)
      // a draining process is replaced by one that has to load them first
      areKeysLoaded = moment !== 'draining'
    },
    async verify() {
      expect((await subject.callTool('fast')).status).toBe(200)
      expect(refusedKnown, 'tokens of known keys that were refused').toEqual([])
    },
    async close() {
      await subject.close()
      await proxy?.close()
      front.closeAllConnections()
      front.close()
    },
  }
}

runTable(IDENTITY_PROVIDER, { open })
