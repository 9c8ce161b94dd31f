/** https: the certificate is checked against the trusted authorities, and the address guard stands before it as everywhere. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEgress } from '../../../src/net/egress/client.ts'
import type { ClientTls } from '../../../src/net/tls/client-tls.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

describe.skipIf(!hasOpenssl)('https (needs openssl for a certificate: apt-get install openssl)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-tls-'))
  let server: Server
  let port: number
  let tls: ClientTls
  let requests = 0

  beforeAll(async () => {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '2',
        '-keyout',
        key,
        '-out',
        cert,
        ...subject,
      ],
      { stdio: 'ignore' },
    )
    const text = readFileSync(cert, 'utf8')
    tls = { ca: { text, file: undefined }, cert: undefined, key: undefined }
    server = createServer({ key: readFileSync(key), cert: text }, (_, response) => {
      requests++
      response.end('secret')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  })
  afterAll(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })

  async function outcome(
    host: string,
    options: Partial<Parameters<typeof createEgress>[0]>,
  ): Promise<string> {
    const egress = createEgress({ allow: [], allowLoopback: true, ...options })
    const response = await egress.request({
      method: 'GET',
      url: `https://${host}:${port}/`,
      headers: ['authorization', 'Bearer x'],
      timeoutMs: 3000,
      maxResponseBytes: 1000,
    })
    await egress.close()
    return response.kind === 'response'
      ? Buffer.from(response.body).toString()
      : `${response.reason} ${response.sent}`
  }

  it('reaches a server whose certificate is trusted and names it', async () => {
    expect(await outcome('localhost', { tls })).toBe('secret')
  })

  it('sends nothing to one that is not trusted, not named, or not allowed', async () => {
    const before = requests
    expect(await outcome('localhost', {})).toBe('unreachable false')
    expect(await outcome('127.0.0.1', { tls })).toBe('unreachable false')
    expect(await outcome('localhost', { tls, allowLoopback: false })).toBe('blocked_address false')
    expect(requests).toBe(before)
  })
})
