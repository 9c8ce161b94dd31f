/** A gateway whose listener has a certificate for its public name only: console, portal and the page of connections reach it in the same process. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Authority } from '../fixtures/certificates.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { freePort } from '../fixtures/free-ports.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const PUBLIC_URL = 'https://tools.example'

describe.skipIf(!hasOpenssl)('a gateway with TLS (needs openssl: apt-get install openssl)', () => {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-gateway-tls-'))
  let deployment: Deployment
  let authority: Authority
  let port: number

  beforeAll(async () => {
    authority = new Authority(dir)
    const { cert, key } = authority.issue('gateway', 'DNS:tools.example,DNS:pages.example')
    port = await freePort()
    deployment = await deploy({
      GATEWAY_PORT: String(port),
      GATEWAY_URL: PUBLIC_URL,
      PAGES_URL: 'https://pages.example',
      GATEWAY_CERT_FILE: cert,
      GATEWAY_KEY_FILE: key,
    })
  })
  afterAll(async () => {
    await deployment?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  /** As a browser that found the public name at this address. */
  function get(path: string): Promise<{ readonly status: number; readonly location: string }> {
    const ca = readFileSync(authority.ca)
    const options = { host: '127.0.0.1', port, path, ca, servername: 'pages.example', agent: false }
    return new Promise((resolve, reject) => {
      const sent = request({ ...options, headers: { host: 'pages.example' } }, response => {
        response.resume()
        const { location = '' } = response.headers
        response.on('end', () => resolve({ status: response.statusCode!, location }))
      })
      sent.on('error', reject)
      sent.end()
    })
  }

  const isLogin = (location: string): void => {
    const { auth_url } = deployment.running.addresses
    expect(location.startsWith(auth_url), location).toBe(true)
    expect(new URL(location).searchParams.get('client_id')).toBeTruthy()
  }

  it('begins the login of its page of connections', async () => {
    const { status, location } = await get('/connections/login')
    expect(status).toBe(303)
    isLogin(location)
  })

  it.each(['console', 'portal'])('begins the login of the %s, and serves its calls', async page => {
    const root = `${deployment.running.addresses.api_url}/${page}`
    const begun = await fetch(`${root}/login`, { redirect: 'manual' })
    isLogin(begun.headers.get('location') ?? '')

    const signedIn = await fetch(`${root}/login/demo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: new URL(root).origin },
      body: JSON.stringify({ client: 'demo-admin' }),
    })
    expect(signedIn.status).toBe(204)
    const cookie = signedIn.headers
      .getSetCookie()
      .map(each => each.split(';')[0])
      .join('; ')
    if (page === 'portal') {
      const { csrf } = (await (await fetch(`${root}/session`, { headers: { cookie } })).json()) as {
        csrf: string
      }
      const headers = { cookie, 'x-csrf-token': csrf, origin: new URL(root).origin }
      const tried = await fetch(`${root}/api/try/no-such-api`, { headers })
      return expect(tried.status).toBe(404)
    }
    const ready = await fetch(`${root}/api/gateway/ready`, { headers: { cookie } })
    expect([ready.status, await ready.json()]).toMatchObject([200, {}])
  })
})
