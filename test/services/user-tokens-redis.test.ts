/** Accounts of users in a real Redis: two instances with one refresh, a disconnect that both see, and a server that is gone. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BackendAuthentication } from '../../src/model/tool.ts'
import { createEgress } from '../../src/shared/egress/client.ts'
import { UserTokens } from '../../src/shared/egress/oauth/user-tokens.ts'
import { openConnection, type RedisConnection } from '../../src/shared/redis/connection.ts'
import { redisConnections } from '../../src/shared/redis/connections-of-users.ts'
import { createSealer } from '../../src/shared/secrets/sealer.ts'
import { type OAuthServer, startOAuthServer } from '../fixtures/oauth-server.ts'
import { hasRedis, type RedisServer, startRedis } from '../fixtures/redis-server.ts'

describe.skipIf(!hasRedis())('in Redis', () => {
  const egress = createEgress({ allow: [], allowLoopback: true })
  const redirectUri = 'http://127.0.0.1:9/connections/return'
  const place = { user: 'u', namespace: 'platform', toolSet: 'mail' }
  const clients: RedisConnection[] = []
  let redis: RedisServer
  let oauth: OAuthServer
  let authentication: BackendAuthentication

  beforeAll(async () => {
    redis = await startRedis()
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

  async function instance(): Promise<UserTokens> {
    const client = openConnection(redis.url, {
      commandTimeoutMs: 1_000,
      firstRetryMs: 50,
      maxRetryMs: 500,
      onError: () => {},
    })
    clients.push(client)
    await new Promise(resolve => client.once('ready', resolve))
    const opened = { store: redisConnections(client), sealer: createSealer('k'.repeat(32)) }
    return new UserTokens({ egress, now: Date.now, open: async () => opened })
  }

  it('refreshes once, ends everywhere, and says when Redis is gone', async () => {
    const [one, two] = [await instance(), await instance()]
    const { url, verifier } = one.authorization(authentication, redirectUri)
    const location = (await fetch(url, { redirect: 'manual' })).headers.get('location')!
    const code = new URL(location).searchParams.get('code')!
    await one.connect(authentication, place, { code, verifier, redirectUri })
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
