/** A listener with a certificate: handshakes, renewal from the files while it serves, and verified client certificates. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ConnectionOptions, connect, type SecureVersion } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Renewable } from '../../../src/net/tls/client-tls.ts'
import { Authority, type Certificate } from '../../fixtures/certificates.ts'
import { openListener } from './kit.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const RENEWAL_MS = 5_000

describe.skipIf(!hasOpenssl)('TLS listener (needs openssl for certificates: apt-get install openssl)', () => {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-listener-tls-'))
  const cert = join(dir, 'served.crt')
  const key = join(dir, 'served.key')
  let authority: Authority
  let ca: string
  let certificates: Record<'first' | 'second' | 'client' | 'foreign', Certificate>

  beforeAll(() => {
    authority = new Authority(dir)
    ca = readFileSync(authority.ca, 'utf8')
    certificates = {
      first: authority.issue('first'),
      second: authority.issue('second'),
      client: authority.issue('client'),
      foreign: new Authority(dir, 'other-ca').issue('foreign'),
    }
    serve('first')
  })
  afterAll(() => rmSync(dir, { recursive: true }))

  function serve(name: 'first' | 'second'): void {
    copyFileSync(certificates[name].cert, cert)
    copyFileSync(certificates[name].key, key)
  }

  const fromFile = (file: string): Renewable => ({ text: readFileSync(file, 'utf8').trim(), file })

  async function open(asksClients = false) {
    const faults: (string | undefined)[] = []
    const opened = await openListener('node', (req, res) => res.send(200, [], String(req.peerVerified)), {
      tls: {
        cert: fromFile(cert),
        key: fromFile(key),
        clientCa: asksClients ? fromFile(authority.ca) : undefined,
      },
      onCertificate: fault => faults.push(fault),
    })
    return { ...opened, faults }
  }

  /** Subject of the server's certificate, protocols and body of one request on a new connection. */
  function get(
    port: number,
    client?: Certificate,
    versions: Pick<ConnectionOptions, 'maxVersion' | 'session'> = {},
  ) {
    return new Promise<{ subject: string; version: string; alpn: string; body: string }>(
      (resolve, reject) => {
        const options = client && { cert: readFileSync(client.cert), key: readFileSync(client.key) }
        const socket = connect(
          { port, host: 'localhost', ca, ALPNProtocols: ['h2', 'http/1.1'], ...options, ...versions },
          () => {
            const seen = {
              subject: socket.isSessionReused() ? 'resumed' : String(socket.getPeerCertificate().subject.CN),
              version: socket.getProtocol() ?? '',
              alpn: String(socket.alpnProtocol),
            }
            const call = request({ createConnection: () => socket, host: 'localhost' }, response => {
              let body = ''
              response.on('data', chunk => {
                body += chunk
              })
              response.on('end', () => {
                socket.destroy()
                resolve({ ...seen, body })
              })
            })
            call.on('error', reject)
            call.end()
          },
        )
        socket.on('error', reject)
      },
    )
  }

  /** What a client needs to resume the session of a connection; undefined: the server has offered none before it responded. */
  function sessionOf(port: number, client: Certificate | undefined, maxVersion: SecureVersion) {
    return new Promise<Buffer | undefined>((resolve, reject) => {
      const options = client && { cert: readFileSync(client.cert), key: readFileSync(client.key) }
      const socket = connect({ port, host: 'localhost', ca, maxVersion, ...options }, () =>
        socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'),
      )
      let offered: Buffer | undefined
      socket.on('session', session => {
        offered = session
      })
      socket.on('error', reject)
      socket.once('data', () => {
        socket.destroy()
        resolve(offered)
      })
    })
  }

  it('serves HTTP/1.1 over TLS 1.3 and 1.2, and nothing older', async () => {
    const { port } = await open()
    expect(await get(port)).toEqual({ subject: 'first', version: 'TLSv1.3', alpn: 'http/1.1', body: 'false' })
    expect((await get(port, undefined, { maxVersion: 'TLSv1.2' })).version).toBe('TLSv1.2')
    await expect(get(port, undefined, { maxVersion: 'TLSv1.1' })).rejects.toThrow()
  })

  it('serves TLS 1.2 with authenticated encryption and forward secrecy alone', async () => {
    const { port } = await open()
    const suiteOf = (ciphers: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect({ port, host: 'localhost', ca, maxVersion: 'TLSv1.2', ciphers }, () => {
          resolve(socket.getCipher().name)
          socket.destroy()
        })
        socket.on('error', reject)
      })
    const best = 'ECDHE-ECDSA-AES128-GCM-SHA256'
    expect(await suiteOf(`ECDHE-ECDSA-AES128-SHA:${best}`)).toBe(best)
    for (const weak of ['ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES256-SHA384'])
      await expect(suiteOf(weak), weak).rejects.toThrow()
  })

  it.each([
    ['gw.example.com', 'max-age=31536000'],
    // browsers would keep the rule for every other server of the developer's machine
    ['localhost', undefined],
  ])('names a browser of %s the time for which it uses TLS alone: %s', async (name, expected) => {
    const { port } = await open()
    const seen = await new Promise((resolve, reject) =>
      request(
        { port, host: 'localhost', servername: 'localhost', ca, headers: { host: `${name}:${port}` } },
        response => {
          response.resume()
          resolve(response.headers['strict-transport-security'])
        },
      )
        .on('error', reject)
        .end(),
    )
    expect(seen).toBe(expected)
  })

  it('ends and counts a connection that sends plain HTTP', async () => {
    const { port, refused } = await open()
    const socket = connectPlain(port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
    socket.on('error', () => {})
    await new Promise(resolve => socket.once('close', resolve))
    expect(refused).toEqual(['tls'])
    expect((await get(port)).body).toBe('false')
  })

  it('takes a renewed certificate without a restart, and keeps the last one while the files cannot be used', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      serve('first')
      const { port, faults } = await open()
      const held = connect({ port, host: 'localhost', ca })
      await new Promise(resolve => held.once('secureConnect', resolve))
      serve('second')
      vi.advanceTimersByTime(RENEWAL_MS)
      expect((await get(port)).subject).toBe('second')
      copyFileSync(certificates.first.cert, cert)
      vi.advanceTimersByTime(RENEWAL_MS)
      expect((await get(port)).subject).toBe('second')
      writeFileSync(cert, 'no certificate')
      vi.advanceTimersByTime(RENEWAL_MS)
      expect((await get(port)).subject).toBe('second')
      rmSync(cert)
      vi.advanceTimersByTime(RENEWAL_MS)
      serve('first')
      vi.advanceTimersByTime(RENEWAL_MS)
      expect((await get(port)).subject).toBe('first')
      expect(faults.map(fault => fault === undefined)).toEqual([true, false, false, false, true])
      expect(held.destroyed, 'a connection that is open stays').toBe(false)
      held.destroy()
    } finally {
      vi.useRealTimers()
    }
  })

  it('verifies client certificates, and serves those without one as unverified', async () => {
    const { port } = await open(true)
    expect((await get(port, certificates.client)).body).toBe('true')
    expect((await get(port)).body).toBe('false')
    expect((await get(port, certificates.foreign)).body).toBe('false')
    const { port: plain } = await open(false)
    expect((await get(plain, certificates.client)).body).toBe('false')
  })

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'verifies the client of a resumed session of %s',
    async version => {
      const { port } = await open(true)
      const bodyOf = async (client: Certificate | undefined) => {
        const session = await sessionOf(port, client, version)
        const { subject, body } = await get(port, client, { maxVersion: version, session })
        // newer releases of Node offer no session where client certificates are asked for
        if (session !== undefined) expect(subject).toBe('resumed')
        return body
      }
      expect(await bodyOf(undefined)).toBe('false')
      expect(await bodyOf(certificates.foreign)).toBe('false')
      expect(await bodyOf(certificates.client)).toBe('true')
    },
  )
})
