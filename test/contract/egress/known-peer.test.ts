/** https to a peer whose certificate the client has: its name does not matter, and no other certificate is accepted. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createEgress } from '../../../src/net/egress/client.ts'
import { KnownPeer } from '../../../src/net/tls/known-peer.ts'
import { Authority, type Certificate } from '../../fixtures/certificates.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const PUBLIC = 'DNS:tools.example'

describe.skipIf(!hasOpenssl)('a known peer (needs openssl: apt-get install openssl)', () => {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-known-peer-'))
  const file = join(dir, 'configured.crt')
  let certificates: Record<'first' | 'second' | 'third', Certificate>
  let authority: Authority
  let server: Server
  let requests = 0

  beforeAll(async () => {
    authority = new Authority(dir)
    certificates = {
      first: authority.issue('first', PUBLIC),
      second: authority.issue('second', PUBLIC),
      third: authority.issue('third', 'IP:127.0.0.1'),
    }
    server = createServer(pairOf('first'), (_, response) => {
      requests++
      response.end('secret')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  })
  beforeEach(() => {
    serve('first')
    copyFileSync(certificates.first.cert, file)
    requests = 0
  })
  afterAll(() => {
    server.close()
    rmSync(dir, { recursive: true })
  })

  const pairOf = (name: keyof typeof certificates) => ({
    cert: readFileSync(certificates[name].cert),
    key: readFileSync(certificates[name].key),
  })
  const serve = (name: keyof typeof certificates): void => server.setSecureContext(pairOf(name))
  const configured = (): KnownPeer => new KnownPeer({ text: readFileSync(file, 'utf8').trim(), file })

  async function outcome(tls: KnownPeer): Promise<string> {
    const egress = createEgress({ allow: [], allowLoopback: true, tls })
    const response = await egress.request({
      method: 'GET',
      url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      headers: ['authorization', 'Bearer x'],
      timeoutMs: 3000,
      maxResponseBytes: 1000,
    })
    await egress.close()
    return response.kind === 'response'
      ? Buffer.from(response.body).toString()
      : `${response.reason} ${response.sent}`
  }

  it('is reached by an address that its certificate does not name, also with a chain in the file', async () => {
    expect(await outcome(configured())).toBe('secret')
    writeFileSync(file, readFileSync(certificates.first.cert, 'utf8') + readFileSync(authority.ca, 'utf8'))
    expect(await outcome(configured())).toBe('secret')
  })

  it.each(['second', 'third'] as const)(
    'is not one with the %s certificate of the same authority',
    async name => {
      writeFileSync(file, readFileSync(certificates.first.cert, 'utf8') + readFileSync(authority.ca, 'utf8'))
      serve(name)
      expect(await outcome(configured())).toBe('unreachable false')
      expect(requests).toBe(0)
    },
  )

  it('is reached while its certificate is renewed: before it takes up the new one, after, and with a wrong file', async () => {
    const peer = configured()
    copyFileSync(certificates.second.cert, file)
    expect(await outcome(peer)).toBe('secret')
    serve('second')
    expect(await outcome(peer)).toBe('secret')
    writeFileSync(file, '-----BEGIN CERTIFICATE-----\nMIIB')
    expect(await outcome(peer)).toBe('secret')
    rmSync(file)
    expect(await outcome(peer)).toBe('secret')
    serve('third')
    expect(await outcome(peer)).toBe('unreachable false')
  })
})
