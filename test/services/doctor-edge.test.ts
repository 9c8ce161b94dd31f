/** The checks of `toolgate doctor` through a real nginx: with HTTP/1.0, below a path prefix with and without the well-known location, and with TLS. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { CLIENTS } from '../../src/app/cli/doctor/clients.ts'
import { type ClientReport, examine } from '../../src/app/cli/doctor/examine.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { freePort } from '../fixtures/free-ports.ts'

const NGINX = ['/usr/sbin/nginx', '/usr/bin/nginx'].find(path => existsSync(path))
const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const missing = (NGINX === undefined || !hasOpenssl) && process.env.REQUIRE_SERVICES !== '1'
const hint = missing ? ' (skipped: scripts/services.sh nginx openssl)' : ''

const FORWARD = 'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;'

describe.skipIf(missing)(`the doctor through nginx${hint}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'toolgate-doctor-'))
  const file = (name: string): string => join(directory, name)
  let gateway: Deployment
  let nginx: ChildProcess | undefined
  let ports: { gateway: number; prefix: number; plain: number; tls: number }

  function configuration(isComplete: boolean): string {
    const proxy = `proxy_pass http://127.0.0.1:${ports.gateway}`
    const documents = `location ~ ^/\\.well-known/[^/]+/tools(/|$) { ${proxy}; }`
    return `daemon off; master_process off; pid ${file('pid')}; error_log ${file('error.log')};
events {}
http { access_log off; client_body_temp_path ${file('body')}; proxy_temp_path ${file('proxy')};
fastcgi_temp_path ${file('f')}; uwsgi_temp_path ${file('u')}; scgi_temp_path ${file('s')};
server { listen 127.0.0.1:${ports.prefix}; ${FORWARD} location /tools/ { ${proxy}/; } ${isComplete ? documents : ''} }
server { listen 127.0.0.1:${ports.plain}; location / { proxy_http_version 1.0; ${proxy}; } }
server { listen 127.0.0.1:${ports.tls} ssl; ssl_certificate ${file('cert.pem')}; ssl_certificate_key ${file('key.pem')};
  ${FORWARD} location / { ${proxy}; } } }`
  }

  async function startNginx(isComplete: boolean): Promise<void> {
    writeFileSync(file('nginx.conf'), configuration(isComplete))
    nginx = spawn(NGINX!, ['-p', directory, '-c', file('nginx.conf')], { stdio: 'ignore' })
    const health = `http://127.0.0.1:${ports.prefix}/tools/health`
    await vi.waitUntil(
      () =>
        fetch(health).then(
          ({ ok }) => ok,
          () => false,
        ),
      20_000,
    )
  }

  async function stopNginx(): Promise<void> {
    if (nginx === undefined) return
    const stopped = new Promise(resolve => nginx!.once('close', resolve))
    nginx.kill()
    await stopped
    nginx = undefined
  }

  beforeAll(async () => {
    ports = {
      gateway: await freePort(),
      prefix: await freePort(),
      plain: await freePort(),
      tls: await freePort(),
    }
    execFileSync(
      'openssl',
      `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -keyout ${file('key.pem')} -out ${file('cert.pem')}`.split(
        ' ',
      ),
      { stdio: 'ignore' },
    )
    const address = `http://127.0.0.1:${ports.prefix}/tools`
    gateway = await deploy({
      GATEWAY_URL: address,
      GATEWAY_PORT: String(ports.gateway),
      ALLOWED_HOSTS: '127.0.0.1',
    })
  })
  afterAll(async () => {
    await stopNginx()
    await gateway?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  const look = (url: string, token?: string, name: 'claude' | 'vscode' = 'vscode'): Promise<ClientReport> =>
    examine({ url, token, serverName: 'toolgate' }, CLIENTS[name], () => {})

  it('names the location that a path prefix needs in the proxy, and lets a client connect once it is there', async () => {
    const url = `http://127.0.0.1:${ports.prefix}/tools/mcp`
    await startNginx(false)
    const lacking = await look(url)
    expect(lacking.failed, JSON.stringify(lacking.steps)).toBe('prefix')
    expect(lacking.steps.at(-1)!.fix).toContain('location ~ ^/\\.well-known/[^/]+/tools(/|$)')
    await stopNginx()
    await startNginx(true)
    const report = await look(url, await gateway.token('demo-agent', { resource: url }))
    expect(report, JSON.stringify(report.steps)).toMatchObject({ header: { ok: true }, login: { ok: true } })
    expect(report.steps.find(({ step }) => step === 'prefix')).toMatchObject({ status: 'ok' })
  })

  it('names HTTP/1.1 when the proxy uses HTTP/1.0', async () => {
    const report = await look(`http://127.0.0.1:${ports.plain}/mcp`)
    expect(report.failed).toBe('reach')
    expect(report.steps.at(-1)!.fix).toContain('proxy_http_version 1.1')
  }, 30_000)

  it('names a certificate that the client does not trust', async () => {
    const report = await look(`https://localhost:${ports.tls}/mcp`)
    expect(report).toMatchObject({ ok: false, failed: 'tls' })
    expect(report.steps[0]!.fix).toContain('NODE_EXTRA_CA_CERTS')
    expect((await look(`https://localhost:${ports.tls}/mcp`, undefined, 'claude')).steps[0]!.fix).toContain(
      'public certificate authorities',
    )
    const plain = await look(`https://127.0.0.1:${ports.plain}/mcp`)
    expect(plain.steps[0]).toMatchObject({ status: 'failed', fix: expect.stringContaining('plain http') })
  })
})
