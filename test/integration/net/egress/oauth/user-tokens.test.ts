/** Tokens of users in files: one refresh over several instances, locks whose holder has ended, disconnects, refusals, failing writes. */
import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSealer } from '../../../../../src/base/secrets/sealer.ts'
import type { BackendAuthentication } from '../../../../../src/model/tool.ts'
import { createEgress } from '../../../../../src/net/egress/client.ts'
import { BackendTokens } from '../../../../../src/net/egress/oauth/backend-tokens.ts'
import type { ConnectionStore } from '../../../../../src/net/egress/oauth/connection-store.ts'
import { fileConnections } from '../../../../../src/net/egress/oauth/file-connections.ts'
import { UserTokens } from '../../../../../src/net/egress/oauth/user-tokens.ts'
import { type OAuthServer, startOAuthServer } from '../../../../fixtures/oauth-server.ts'

const egress = createEgress({ allow: [], allowLoopback: true })
const folder = mkdtempSync(join(tmpdir(), 'user-tokens-'))
const directory = join(folder, 'connections')
const redirectUri = 'http://127.0.0.1:9/connections/return'
const place = { user: 'u', namespace: 'platform', toolSet: 'mail' }
let oauth: OAuthServer
let authentication: BackendAuthentication

beforeAll(async () => {
  oauth = await startOAuthServer()
  authentication = {
    type: 'authorization_code',
    credential: 'secret',
    oauth: {
      tokenUrl: `${oauth.url}/token`,
      authorizationUrl: `${oauth.url}/authorize`,
      revocationUrl: `${oauth.url}/revoke`,
      clientId: 'gateway',
      clientAuthentication: 'basic',
    },
  }
})
afterAll(async () => {
  await egress.close()
  await oauth.close()
  rmSync(folder, { recursive: true, force: true })
})

function instance(store: ConnectionStore = fileConnections(directory), key = 'k'.repeat(32)): UserTokens {
  return new UserTokens({ egress, now: Date.now, open: async () => ({ store, sealer: createSealer(key) }) })
}

/** Makes what lies in a folder as old as what a process leaves behind that ended a minute ago. */
function age(path: string): void {
  const past = new Date(Date.now() - 60_000)
  for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' }))
    utimesSync(join(path, name), past, past)
}

async function connect(tokens: UserTokens): Promise<void> {
  const { url, verifier, key } = tokens.authorization(authentication, place, redirectUri)
  const location = (await fetch(url, { redirect: 'manual' })).headers.get('location')!
  const code = new URL(location).searchParams.get('code')!
  const grant = { code, issuer: undefined, verifier, key, redirectUri }
  expect(await tokens.connect(authentication, place, grant)).toBeUndefined()
}

it.each([
  [
    'https://pages.example/connections/list',
    'https://pages.example/connections/list?tool_set=platform%2Fmail',
  ],
  [undefined, undefined],
])(
  'names the page %s to a user who has not connected, or the setting without one',
  async (pageUrl, connectUrl) => {
    const users = { tokens: instance(), pageUrl }
    const caller = { subjectToken: 't', expiresAtMs: 0, place: { ...place, user: 'not connected' } }
    const refused = await new BackendTokens({ egress, users, now: Date.now }).token(authentication, caller)
    expect(refused).toMatchObject({
      reason: 'not_connected',
      connectUrl,
      message: expect.stringContaining(connectUrl ?? 'the operator can set PAGES_URL'),
    })
  },
)

describe('in files', () => {
  it('refreshes once for eight instances', async () => {
    const instances = Array.from({ length: 8 }, () => instance())
    await connect(instances[0]!)
    const first = await instances[1]!.token(authentication, place)
    oauth.requests.length = 0
    oauth.delayMs = 150
    const all = await Promise.all(instances.map(each => each.token(authentication, place, String(first))))
    oauth.delayMs = 0
    expect(oauth.requests).toHaveLength(1)
    expect(new Set(all).size).toBe(1)
    expect(oauth.accepts(String(all[0]))).toBe(true)
  })

  it('takes over the lock of an instance that has ended', async () => {
    const tokens = instance()
    const before = await tokens.token(authentication, place)
    const store = fileConnections(directory)
    const locked: string[] = []
    const watching: ConnectionStore = {
      ...store,
      lock: (key, ms) => {
        locked.push(key)
        return store.lock(key, ms)
      },
    }
    await instance(watching).token(authentication, place, String(before))
    // an instance that was killed
    expect(await store.lock(locked[0]!, 15_000)).toBeDefined()
    age(directory)
    const refused = await tokens.token(authentication, place)
    expect(await tokens.token(authentication, place, String(refused))).toMatch(/^user\./)
    expect(readdirSync(directory)).toEqual([`${locked[0]}.sealed`])
  })

  it('gives the lock of an instance that has ended to one of those that find it at once', async () => {
    const own = mkdtempSync(join(folder, 'lock-'))
    let [holders, most, taken] = [0, 0, 0]
    async function contend(): Promise<void> {
      const store = fileConnections(own)
      for (;;) {
        const unlock = await store.lock('k', 15_000)
        if (unlock === undefined) continue
        most = Math.max(most, ++holders)
        taken++
        await new Promise(resolve => setTimeout(resolve, 2))
        holders--
        return unlock()
      }
    }
    for (let round = 0; round < 20; round++) {
      await fileConnections(own).lock('k', 15_000)
      age(own)
      await Promise.all(Array.from({ length: 8 }, contend))
    }
    expect([most, taken]).toEqual([1, 160])
    expect(readdirSync(own)).toEqual([])
  })

  it('keeps a lock from one that it does not belong to any longer', async () => {
    const own = mkdtempSync(join(folder, 'lock-'))
    const store = fileConnections(own)
    const late = await store.lock('k', 15_000)
    age(own)
    expect(await store.lock('k', 15_000)).toBeUndefined()
    const unlock = await store.lock('k', 15_000)
    await late!()
    expect(await store.lock('k', 15_000)).toBeUndefined()
    await unlock!()
    await (await store.lock('k', 15_000))!()
  })

  it('gives the lock back when the store fails after it was taken', async () => {
    const before = await instance().token(authentication, place)
    const store = fileConnections(directory)
    let reads = 0
    const failing: ConnectionStore = {
      ...store,
      read: key => (++reads === 2 ? Promise.reject(new Error('down')) : store.read(key)),
    }
    expect(await instance(failing).token(authentication, place, String(before))).toMatchObject({
      reason: 'unavailable',
    })
    expect(readdirSync(directory).filter(name => !name.endsWith('.sealed'))).toEqual([])
  })

  it('does not bring a connection back that was ended during a refresh', async () => {
    const tokens = instance()
    const before = await tokens.token(authentication, place)
    let finish: (() => void) | undefined
    oauth.respond = response => {
      oauth.respond = undefined
      const token = { access_token: 'user.late', token_type: 'bearer', refresh_token: 'late' }
      finish = () => response.writeHead(200).end(JSON.stringify(token))
    }
    const refreshing = tokens.token(authentication, place, String(before))
    await expect.poll(() => finish).toBeDefined()
    await instance().disconnect(authentication, place)
    finish?.()
    expect(await refreshing).toMatchObject({ kind: 'fault', reason: 'not_connected' })
    expect(oauth.revoked).toContain('late')
    expect(await tokens.token(authentication, place)).toMatchObject({ reason: 'not_connected' })
  })

  it('does not bring a connection back that is ended while its refresh is being written', async () => {
    await connect(instance())
    const before = await instance().token(authentication, place)
    const store = fileConnections(directory)
    let ended = 0
    const end = async (): Promise<void> => {
      ended++
      await instance().disconnect(authentication, place)
    }
    const late: ConnectionStore = {
      ...store,
      write: (...args) => end().then(() => store.write(...args)),
      replace: (...args) => end().then(() => store.replace(...args)),
    }
    oauth.respond = response =>
      response.writeHead(200).end('{"access_token":"user.last","token_type":"bearer","refresh_token":"last"}')
    const refreshed = await instance(late).token(authentication, place, String(before))
    oauth.respond = undefined
    expect(refreshed).toMatchObject({ kind: 'fault', reason: 'not_connected' })
    expect(ended).toBe(1)
    expect(oauth.revoked).toContain('last')
    expect(await instance().token(authentication, place)).toMatchObject({ reason: 'not_connected' })
  })

  it('keeps the account that is connected while the end of the one before is being stored', async () => {
    await connect(instance())
    const before = await instance().token(authentication, place)
    const store = fileConnections(directory)
    const late: ConnectionStore = {
      ...store,
      remove: (...args) => connect(instance()).then(() => store.remove(...args)),
    }
    oauth.respond = response => {
      oauth.respond = undefined
      response.writeHead(400).end('{"error":"invalid_grant"}')
    }
    const token = await instance(late).token(authentication, place, String(before))
    expect(oauth.accepts(String(token))).toBe(true)
    expect(await instance().token(authentication, place)).toBe(token)
  })

  it('uses and stores a rotated token that the store did not take at first', async () => {
    await connect(instance())
    const before = String(await instance().token(authentication, place))
    const store = fileConnections(directory)
    let isFull = true
    const whenFree = async (): Promise<void> => {
      if (isFull) throw new Error('full')
    }
    const failing: ConnectionStore = {
      ...store,
      write: (...args) => whenFree().then(() => store.write(...args)),
      replace: (...args) => whenFree().then(() => store.replace(...args)),
    }
    const tokens = instance(failing)
    const rotated = String(await tokens.token(authentication, place, before))
    expect(rotated).not.toBe(before)
    expect(oauth.accepts(rotated)).toBe(true)
    oauth.requests.length = 0
    expect(await tokens.token(authentication, place, before)).toBe(rotated)
    expect(oauth.requests).toEqual([])
    isFull = false
    await expect.poll(() => instance().token(authentication, place), { timeout: 20_000 }).toBe(rotated)
    // with the refresh token that was stored late
    const next = String(await instance().token(authentication, place, rotated))
    expect(next).not.toBe(rotated)
    expect(oauth.accepts(next)).toBe(true)
    await expect
      .poll(() => readdirSync(directory).filter(name => !name.endsWith('.sealed')), { timeout: 20_000 })
      .toEqual([])
  })

  it('revokes a rotated token that was not stored before the user disconnected', async () => {
    await connect(instance())
    const before = String(await instance().token(authentication, place))
    const store = fileConnections(directory)
    let isFull = true
    const failing: ConnectionStore = {
      ...store,
      write: (...args) => (isFull ? Promise.reject(new Error('full')) : store.write(...args)),
      replace: (...args) => (isFull ? Promise.reject(new Error('full')) : store.replace(...args)),
    }
    const rotated = String(await instance(failing).token(authentication, place, before))
    expect(oauth.accepts(rotated)).toBe(true)
    await instance().disconnect(authentication, place)
    isFull = false
    await expect.poll(() => oauth.revoked, { timeout: 20_000 }).toContain(rotated)
    expect(await instance().token(authentication, place)).toMatchObject({ reason: 'not_connected' })
  })

  it.each([
    ['succeeds', undefined],
    ['is refused', 'invalid_grant'],
  ])(
    'keeps the account with which the user connects again while a refresh of the one before %s',
    async (_, error) => {
      await connect(instance())
      const before = await instance().token(authentication, place)
      let finish: (() => void) | undefined
      oauth.respond = response => {
        oauth.respond = undefined
        finish = () =>
          error === undefined
            ? response
                .writeHead(200)
                .end('{"access_token":"user.before","token_type":"bearer","refresh_token":"r"}')
            : response.writeHead(400).end(JSON.stringify({ error }))
      }
      const refreshing = instance().token(authentication, place, String(before))
      await expect.poll(() => finish).toBeDefined()
      const connecting = connect(instance())
      // the code has been exchanged
      await new Promise(resolve => setTimeout(resolve, 300))
      finish?.()
      await Promise.all([refreshing, connecting])
      expect(await instance().token(authentication, place)).toMatch(/^user\.(?!before)/)
    },
  )

  it('keeps the account that was connected while the lock of a refresh had expired', async () => {
    await connect(instance())
    const before = await instance().token(authentication, place)
    const store = fileConnections(directory)
    const unlocked: ConnectionStore = { ...store, lock: async () => async () => {} }
    let finish: (() => void) | undefined
    oauth.respond = response => {
      oauth.respond = undefined
      finish = () => response.writeHead(400).end('{"error":"invalid_grant"}')
    }
    const refreshing = instance(unlocked).token(authentication, place, String(before))
    await expect.poll(() => finish).toBeDefined()
    await connect(instance(unlocked))
    finish?.()
    expect(await refreshing).toMatch(/^user\./)
    expect(await instance().token(authentication, place)).toMatch(/^user\./)
  })

  it('counts a connection as absent when it cannot be opened, and ends one that the server has withdrawn', async () => {
    await connect(instance())
    expect(await instance(undefined, 'z'.repeat(32)).token(authentication, place)).toMatchObject({
      reason: 'not_connected',
    })
    const token = await instance().token(authentication, place)
    oauth.respond = response => response.writeHead(400).end('{"error":"invalid_grant"}')
    expect(await instance().token(authentication, place, String(token))).toMatchObject({
      reason: 'not_connected',
    })
    oauth.respond = undefined
    expect(await instance().connectedAtMs(authentication, place)).toBeUndefined()
  })

  it.each([
    ['its secret is not accepted', 401, '{"error":"invalid_client"}'],
    ['the server refuses its address', 403, '<html>'],
    ['the address is wrong', 404, ''],
  ])('keeps the connection of the user when the client is wrong: %s', async (_, status, body) => {
    await connect(instance())
    const token = await instance().token(authentication, place)
    oauth.respond = response => response.writeHead(status).end(body)
    expect(await instance().token(authentication, place, String(token))).toMatchObject({ reason: 'refused' })
    oauth.respond = undefined
    expect(await instance().token(authentication, place, String(token))).toMatch(/^user\./)
  })

  it('uses a token without an end and without a refresh token until the backend refuses it', async () => {
    const forever = '{"access_token":"user.forever","token_type":"bearer"}'
    oauth.respond = response => response.writeHead(200).end(forever)
    await connect(instance())
    const { store, sealer } = { store: fileConnections(directory), sealer: createSealer('k'.repeat(32)) }
    const later = new UserTokens({
      egress,
      now: () => Date.now() + 30 * 24 * 3_600_000,
      open: async () => ({ store, sealer }),
    })
    expect(await later.token(authentication, place)).toBe('user.forever')
    expect(await later.token(authentication, place, 'user.forever')).toMatchObject({
      reason: 'not_connected',
    })
    oauth.respond = undefined
  })

  it('says that the store is unavailable', async () => {
    const broken: ConnectionStore = {
      read: () => Promise.reject(new Error('down')),
      write: () => Promise.reject(new Error('down')),
      replace: () => Promise.reject(new Error('down')),
      remove: () => Promise.reject(new Error('down')),
      lock: () => Promise.reject(new Error('down')),
    }
    expect(await instance(broken).token(authentication, place)).toMatchObject({ reason: 'unavailable' })
  })
})
