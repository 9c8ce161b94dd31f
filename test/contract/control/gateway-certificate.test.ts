/** The routes that gateways use need a verified client certificate, and no other route does: over a real TLS listener. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ENDPOINTS } from '../../../src/control-plane/api/endpoints.ts'
import { mountWeb } from '../../../src/net/server/web.ts'
import type { Renewable } from '../../../src/net/tls/client-tls.ts'
import { Authority, type Certificate } from '../../fixtures/certificates.ts'
import { openListener } from '../listener/kit.ts'
import { openPlane, type Plane } from './plane.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const fromFile = (file: string): Renewable => ({ text: readFileSync(file, 'utf8').trim(), file })
const ROUTES = [
  { id: 'streamSnapshots', method: 'get', path: '/gateways/stream', action: 'control.gateways.connect' },
  ...ENDPOINTS.map(({ id, method, path, action }) => ({ id, method, path, action })),
]

describe.skipIf(!hasOpenssl)('a control plane with API_CLIENT_CA (needs openssl)', () => {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-gateway-certificate-'))
  let authority: Authority
  let client: Certificate
  let plane: Plane
  let port: number
  const kept = new Agent({ keepAlive: true })

  beforeEach(async () => {
    authority = new Authority(dir)
    client = authority.issue('edge')
    const { cert, key } = authority.issue('api')
    plane = await openPlane({ options: { verifiesGateways: true } })
    const handler = mountWeb((call, peer) => plane.control.fetch(call, peer), {
      maxBodyBytes: 1024 * 1024,
      scheme: 'https',
      onError: error => plane.faults.push(error),
    })
    const tls = { cert: fromFile(cert), key: fromFile(key), clientCa: fromFile(authority.ca) }
    port = (await openListener('node', handler, { tls })).port
  }, 60_000)
  afterEach(async () => {
    kept.destroy()
    await plane.close()
    rmSync(dir, { recursive: true, force: true })
  })

  /** @returns status and body of a request with the token of a gateway; a stream is left after its head */
  function call(method: string, path: string, certificate?: Certificate) {
    const identity = certificate && {
      cert: readFileSync(certificate.cert),
      key: readFileSync(certificate.key),
    }
    return new Promise<{ status: number; text: string }>((resolve, reject) => {
      const sent = request(
        {
          agent: certificate === undefined ? kept : false,
          ...{ host: 'localhost', port, ca: readFileSync(authority.ca), ...identity },
          ...{ method: method.toUpperCase(), path: `/v1${path.replace(/\{\w+\}/g, 'gw_unknown')}` },
          headers: { authorization: 'Bearer gateway', 'content-type': 'application/json' },
        },
        response => {
          const { statusCode: status = 0 } = response
          if (response.headers['content-type'] === 'text/event-stream') {
            response.destroy()
            resolve({ status, text: '' })
            return
          }
          let text = ''
          response.on('data', chunk => {
            text += chunk
          })
          response.on('end', () => resolve({ status, text }))
        },
      )
      sent.on('error', reject)
      sent.end(method === 'get' ? undefined : '{}')
    })
  }

  it('asks for it exactly where gateways call', async () => {
    const asking: string[] = []
    for (const { id, method, path } of ROUTES) {
      const { status, text } = await call(method, path)
      if (status !== 403 || !text.includes('API_CLIENT_CA')) continue
      asking.push(id)
      expect((await call(method, path, client)).text, id).not.toContain('API_CLIENT_CA')
    }
    const ofGateways = ROUTES.filter(({ action }) => action === 'control.gateways.connect')
    expect(asking).toEqual(ofGateways.map(({ id }) => id))
    expect(asking).toContain('replyToQuestion')
  }, 30_000)
})
