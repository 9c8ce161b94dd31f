/** Accounts of users in a real Redis: two instances with one refresh, a disconnect that both see, and a server that is full or gone. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSealer } from '../../src/base/secrets/sealer.ts'
import type { BackendAuthentication } from '../../src/model/tool.ts'
import { createEgress } from '../../src/net/egress/client.ts'
import type { ConnectionStore } from '../../src/net/egress/oauth/connection-store.ts'
import { UserTokens } from '../../src/net/egress/oauth/user-tokens.ts'
import { redisConnections } from '../../src/net/redis/connections-of-users.ts'
import { openConnection, type RedisConnection } from '../../src/net/redis/redis-connection.ts'
import { type OAuthServer, startOAuthServer } from '../fixtures/oauth-server.ts'
import { hasRedis, RedisServer } from '../fixtures/redis-server.ts'

describe.skipIf(!hasRedis())('in Redis', () => {
  const egress = createEgress({ allow: [], allowLoopback: true })
  const redirectUri = 'http://127.0.0.1:9/connections/return'
  const place = { user: 'u', namespace: 'platform', toolSet: 'mail' }
  const clients: RedisConnection[] = []
  let redis: RedisServer
  let oauth: OAuthServer
  let authentication: BackendAuthentication

  beforeAll(async () => {
    redis = await RedisServer.start()
    oauth = await startOAuthServer()
    const at = { tokenUrl: `${oauth.url}/token`, authorizationUrl: `${oauth.url}/authorize` }
    authentication = {
      type: 'authorization_code',
      credential: 'secret',
      oauth: { ...at, clientId: 'gateway', clientAuthentication: 'basic' },
    }
  })
  afterAll(async () => {
    for (const client of clients) client.disconnect()
    await egress.close()
    await oauth?.close()
    await redis?.stop()
  })

  /** @param around what the instance does beside the calls of its store */
  async function instance(
    around: (store: ConnectionStore, client: RedisConnection) => ConnectionStore = store => store,
  ): Promise<UserTokens> {
    const client = openConnection(redis.url, {
      commandTimeoutMs: 1_000,
      firstRetryMs: 50,
      maxRetryMs: 500,
      onError: () => {},
    })
    clients.push(client)
    await new Promise(resolve => client.once('ready', resolve))
    const opened = { store: around(redisConnections(client), client), sealer: createSealer('k'.repeat(32)) }
    return new UserTokens({ egress, now: Date.now, open: async () => opened })
  }

  async function connect(tokens: UserTokens): Promise<void> {
    const { url, verifier, key } = tokens.authorization(authentication, place, redirectUri)
    const location = (await fetch(url, { redirect: 'manual' })).headers.get('location')!
    const code = new URL(location).searchParams.get('code')!
    const grant = { code, issuer: undefined, verifier, key, redirectUri }
    expect(await tokens.connect(authentication, place, grant)).toBeUndefined()
  }

  it('does not bring a connection back that is ended while its refresh is being written', async () => {
    const two = await instance()
    let ended = 0
    const one = await instance(store => {
      const end = async (): Promise<void> => {
        ended++
        await two.disconnect(authentication, place)
      }
      return { ...store, replace: (...args) => end().then(() => store.replace(...args)) }
    })
    await connect(two)
    const before = String(await one.token(authentication, place))
    expect(await one.token(authentication, place, before)).toMatchObject({ reason: 'not_connected' })
    expect(ended).toBe(1)
    expect(await two.token(authentication, place)).toMatchObject({ reason: 'not_connected' })
  })

  it('uses and stores a rotated token for which Redis had no memory at first', async () => {
    const two = await instance()
    let admin: RedisConnection | undefined
    const one = await instance((store, client) => {
      admin = client
      let isFilled = false
      const fill = async (): Promise<void> => {
        if (!isFilled) await client.config('SET', 'maxmemory', '1')
        isFilled = true
      }
      return { ...store, replace: (...args) => fill().then(() => store.replace(...args)) }
    })
    await connect(two)
    const before = String(await one.token(authentication, place))
    oauth.requests.length = 0
    const rotated = String(await one.token(authentication, place, before))
    expect(oauth.accepts(rotated)).toBe(true)
    expect(await one.token(authentication, place, before)).toBe(rotated)
    expect(oauth.requests).toHaveLength(1)
    expect(await two.token(authentication, place)).toBe(before)
    await admin!.config('SET', 'maxmemory', '0')
    await expect.poll(() => two.token(authentication, place), { timeout: 20_000 }).toBe(rotated)
    const next = String(await two.token(authentication, place, rotated))
    expect(next).not.toBe(rotated)
    expect(oauth.accepts(next)).toBe(true)
  })

  it('refreshes once, ends everywhere, and says when Redis is gone', async () => {
    const [one, two] = [await instance(), await instance()]
    await connect(one)
    const first = String(await two.token(authentication, place))
    expect(oauth.accepts(first)).toBe(true)
    oauth.requests.length = 0
    oauth.delayMs = 150
    const both = await Promise.all([one, two].map(each => each.token(authentication, place, first)))
    expect(oauth.requests).toHaveLength(1)
    expect(both[0]).toBe(both[1])
    await one.disconnect(authentication, place)
    expect(await two.token(authentication, place)).toMatchObject({ reason: 'not_connected' })
    await redis.stop()
    expect(await two.token(authentication, place)).toMatchObject({ reason: 'unavailable' })
  })
})
