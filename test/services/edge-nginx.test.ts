/** The nginx example of docs/edge.md, run by the real nginx in front of both listeners: calls, bodies, event streams, HTTP/1.0. No forwarded address. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { isStrictParser, listenerSupport } from '../../src/net/server/create.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { freePort } from '../fixtures/free-ports.ts'

const NGINX = ['/usr/sbin/nginx', '/usr/bin/nginx'].find(path => existsSync(path))
const REQUIRED = process.env.REQUIRE_SERVICES === '1'
const { kinds } = listenerSupport()
/** For a request in HTTP/1.0: the older native build closes the connection after 10 s without a response, which nginx reports as 502. */
const HTTP_1_0 = { node: 200, uws: isStrictParser('uws') ? 505 : 502 } as const
/** Below the 60 s after which nginx gives up. */
const RESPONDS_WITHIN_MS = 20_000

/** The example, with the ports of the test; a second server leaves everything to the defaults of nginx. */
function configuration(directory: string, port: number, plainPort: number, gatewayPort: string): string {
  const page = readFileSync(new URL('../../docs/edge.md', import.meta.url), 'utf8')
  const example = /```nginx\n(.*?)```/s.exec(page)![1]!
  const server = example.replace('listen 8443', `listen 127.0.0.1:${port}`).replace('8080', gatewayPort)
  return `daemon off; master_process off; pid ${directory}/pid; error_log ${directory}/error.log;
events {}
http { access_log off; client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy;
fastcgi_temp_path ${directory}/f; uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s;
${server}
server { listen 127.0.0.1:${plainPort}; location / { proxy_pass http://127.0.0.1:${gatewayPort}; } } }`
}

describe.skipIf(NGINX === undefined && !REQUIRED).each(['uws', 'node'] as const)(
  'nginx before %s',
  server => {
    describe.skipIf(!kinds.includes(server))('the listener', () => {
      const directory = mkdtempSync(join(tmpdir(), 'toolgate-nginx-'))
      let gateway: Deployment
      let nginx: ChildProcess
      let edge: string
      let plain: string
      beforeAll(async () => {
        const env = { HTTP_SERVER: server, ALLOWED_HOSTS: 'gw.example.com', SSE_TRUSTED_PROXIES: '127.0.0.1' }
        gateway = await deploy(env)
        const [port, plainPort] = [await freePort(), await freePort()]
        plain = `http://127.0.0.1:${plainPort}`
        edge = `http://127.0.0.1:${port}`
        writeFileSync(
          join(directory, 'nginx.conf'),
          configuration(directory, port, plainPort, new URL(gateway.url).port),
        )
        nginx = spawn(NGINX!, ['-p', directory, '-c', join(directory, 'nginx.conf')], { stdio: 'ignore' })
        await vi.waitUntil(
          () =>
            fetch(`${edge}/health`).then(
              ({ ok }) => ok,
              () => false,
            ),
          20_000,
        )
      })
      afterAll(async () => {
        nginx?.kill()
        await gateway?.stop()
        rmSync(directory, { recursive: true, force: true })
      })

      it('passes a call and its body, with a declared length and chunked', async () => {
        const headers = {
          authorization: `Bearer ${await gateway.token('demo-agent')}`,
          'content-type': 'application/json',
        }
        const text = JSON.stringify({ name: 'shop_getProduct', arguments: { productId: 'P-1001' } })
        const bodies = [text, new Blob([text]).stream()]
        for (const body of bodies) {
          const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
          const called = await fetch(`${edge}/mcp/tools/call`, init)
          expect([called.status, await called.text()]).toEqual([200, expect.stringContaining('P-1001')])
        }
      })

      it(`responds to nginx with its defaults, which is HTTP/1.0, with ${HTTP_1_0[server]} at the latest after 20 s`, async () => {
        const began = performance.now()
        const { status } = await fetch(`${plain}/health`)
        expect(status).toBe(HTTP_1_0[server])
        expect(performance.now() - began).toBeLessThan(RESPONDS_WITHIN_MS)
      })

      it('passes the first event of a stream at once', async () => {
        const token = await gateway.token('demo-agent')
        const stop = new AbortController()
        const stream = await fetch(`${edge}/mcp/sse`, {
          headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
          signal: stop.signal,
        })
        expect(stream.headers.get('content-type')).toContain('text/event-stream')
        const { value } = await stream.body!.getReader().read()
        expect(value!.length).toBeGreaterThan(0)
        stop.abort()
      })
    })
  },
)
