/** The nginx example of docs/edge.md, run by the real nginx in front of both listeners: calls, event streams, bodies, forwarded addresses. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { listenerSupport } from '../../src/shared/server/create.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { freePort } from '../fixtures/redis-server.ts'

const NGINX = ['/usr/sbin/nginx', '/usr/bin/nginx'].find(path => existsSync(path))
const REQUIRED = process.env.REQUIRE_SERVICES === '1'
const { kinds } = listenerSupport()

/** The example, with the ports of the test. */
function configuration(directory: string, port: number, gatewayPort: string): string {
  const page = readFileSync(new URL('../../docs/edge.md', import.meta.url), 'utf8')
  const example = /```nginx\n(.*?)```/s.exec(page)![1]!
  const server = example.replace('listen 8443', `listen 127.0.0.1:${port}`).replace('8080', gatewayPort)
  return `daemon off; master_process off; pid ${directory}/pid; error_log ${directory}/error.log;
events {}
http { access_log off; client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy;
fastcgi_temp_path ${directory}/f; uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s;
${server} }`
}

describe.skipIf(NGINX === undefined && !REQUIRED).each(['uws', 'node'] as const)(
  'nginx before %s',
  server => {
    describe.skipIf(!kinds.includes(server))('the listener', () => {
      const directory = mkdtempSync(join(tmpdir(), 'toolgate-nginx-'))
      let gateway: Deployment
      let nginx: ChildProcess
      let edge: string
      beforeAll(async () => {
        const env = { HTTP_SERVER: server, ALLOWED_HOSTS: 'gw.example.com', SSE_TRUSTED_PROXIES: '127.0.0.1' }
        gateway = await deploy({ DATABASE_URL: 'pglite:memory', ...env })
        const port = await freePort()
        edge = `http://127.0.0.1:${port}`
        writeFileSync(
          join(directory, 'nginx.conf'),
          configuration(directory, port, new URL(gateway.url).port),
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
