/** Two gateways with one Redis: a logout at one ends the session at the other, and without Redis no session is accepted. */
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CookieBrowser } from '../fixtures/cookie-browser.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { freePorts } from '../fixtures/free-ports.ts'
import { localFetch } from '../fixtures/local-fetch.ts'
import { RedisServer, SKIPPED_HINT, withoutRedis } from '../fixtures/redis-server.ts'

describe.skipIf(withoutRedis)(`sessions of two gateways${SKIPPED_HINT}`, () => {
  let redis: RedisServer
  let one: Deployment
  let pages: string
  let two: Deployment
  let ports: readonly number[]

  beforeAll(async () => {
    redis = await RedisServer.start()
    ports = await freePorts(2)
    const shared = {
      REDIS_URL: redis.url,
      SECRETS_KEY: 'k'.repeat(64),
      GATEWAY_URL: `http://localhost:${ports[0]}`,
      PAGES_URL: `http://pages.localhost:${ports[0]}`,
    }
    pages = shared.PAGES_URL
    one = await deploy({ ...shared, GATEWAY_PORT: String(ports[0]) })
    const issuer = one.running.addresses.auth_url
    two = await deploy({ ...shared, GATEWAY_PORT: String(ports[1]), AUTH_ISSUER: issuer })
  }, 120_000)
  afterAll(async () => {
    await two?.stop()
    await one?.stop()
    await redis?.stop()
  })

  /** As a load balancer passes it on: with the public name of both. */
  function list(port: number, cookie: string) {
    return new Promise<{ status: number; text: string }>((resolve, reject) => {
      const headers = { host: new URL(pages).host, cookie }
      request(`http://localhost:${port}/connections/list`, { headers }, response => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', piece => {
          text += piece
        })
        response.on('end', () => resolve({ status: response.statusCode!, text }))
      })
        .on('error', reject)
        .end()
    })
  }

  it('end at both with the logout at one, and are unknown without Redis', async () => {
    const signIn = async (): Promise<string> => {
      const browser = new CookieBrowser()
      const page = await browser.open(`${pages}/connections/login`)
      await browser.open(page.url, { account: 'developer' })
      return browser.cookiesFor(pages)
    }
    const [cookie, other] = [await signIn(), await signIn()]
    const signedIn = (copy: string) =>
      Promise.all(ports.map(async port => (await list(port, copy)).text.includes('Signed in as')))
    expect(await signedIn(cookie)).toEqual([true, true])
    const headers = { cookie, origin: pages }
    await localFetch(`${pages}/connections/logout`, { method: 'POST', redirect: 'manual', headers })
    expect([await signedIn(cookie), await signedIn(other)]).toEqual([
      [false, false],
      [true, true],
    ])
    await redis.stop()
    for (const port of ports) expect((await list(port, other)).status).toBe(503)
  }, 60_000)
})
