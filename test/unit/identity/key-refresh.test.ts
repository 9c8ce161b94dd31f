/** When the provider is asked for its keys, by a clock that the tests advance: the cool-down, retries, outages, the end. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { FetchedJson } from '../../../src/identity/fetch-json.ts'
import { KeySource, type KeySourceOptions } from '../../../src/identity/key-source.ts'
import type { Log } from '../../../src/telemetry/log.ts'
import { makeKeyPair } from '../../fixtures/key-pair.ts'

const jwks = [0, 1].map(at => ({
  ...makeKeyPair('ec').publicKey.export({ format: 'jwk' }),
  kid: `k${at}`,
}))
const published = (...keys: object[]): FetchedJson => ({ ok: true, json: { keys } })
const DOWN: FetchedJson = { ok: false, reason: 'connection refused' }

const ISSUER = 'https://idp.example/realm'
const DISCOVERY = `${ISSUER}/.well-known/openid-configuration`
const CERTS = 'https://idp.example/certs'

let response: FetchedJson
let discovery: FetchedJson
let asked: string[]
let faults: (string | undefined)[]
let warnings: (readonly [object, string])[]
let removed: number
const sources: KeySource[] = []

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  response = published(jwks[0]!)
  discovery = { ok: true, json: { issuer: ISSUER, jwks_uri: CERTS } }
  asked = []
  faults = []
  warnings = []
  removed = 0
})
afterEach(() => {
  for (const source of sources.splice(0)) source.close()
  vi.useRealTimers()
})

function open(more: Partial<KeySourceOptions> = {}): KeySource {
  const log = { warn: (fields: object, text: string) => warnings.push([fields, text]) } as unknown as Log
  const source = new KeySource({
    issuer: ISSUER,
    log,
    onFault: reason => faults.push(reason),
    onKeyRemoved: () => {
      removed++
    },
    fetchJson: async url => {
      asked.push(url)
      return url === DISCOVERY ? discovery : response
    },
    ...more,
  })
  sources.push(source)
  return source
}
async function settled(source: KeySource): Promise<boolean> {
  return source.ask()
}
/** Importing a key takes turns of the real loop. */
async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
}

describe('the keys of a provider', () => {
  it('are loaded at the start, once, and refreshed every five minutes', async () => {
    const source = open()
    expect([source.keys, source.unreachable, source.mayAsk]).toEqual([undefined, false, true])
    source.start()
    source.start()
    await pass(0)
    expect(asked).toEqual([DISCOVERY, CERTS])
    expect(source.keys?.keys.map(key => key.kid)).toEqual(['k0'])
    // started already: the timer runs
    source.start()
    await pass(299_999)
    expect(asked).toHaveLength(2)
    await pass(1)
    // the address is known
    expect(asked).toEqual([DISCOVERY, CERTS, CERTS])
    expect([faults, warnings, removed]).toEqual([[], [], 0])
  })

  it.each([
    [undefined, 300_000],
    [0, 30_000],
    [45, 45_000],
    [86_400, 300_000],
  ])('are refreshed as the provider permits: a max-age of %s s after %s ms', async (maxAgeSecs, afterMs) => {
    response = {
      ...published(jwks[0]!),
      ...(maxAgeSecs === undefined ? undefined : { maxAgeSecs }),
    } as FetchedJson
    const source = open({ jwksUri: CERTS })
    source.start()
    await pass(0)
    await pass(afterMs - 1)
    expect(asked).toHaveLength(1)
    await pass(1)
    expect(asked).toHaveLength(2)
  })

  it('are never asked for after the end', async () => {
    const source = open()
    source.start()
    await pass(0)
    source.close()
    expect(source.mayAsk).toBe(false)
    await pass(600_000)
    expect(asked).toHaveLength(2)
    const closed = open()
    closed.close()
    closed.start()
    await pass(0)
    expect(asked).toHaveLength(2)
  })

  it('are not refreshed when the end comes during a fetch', async () => {
    const source = open()
    source.start()
    source.close()
    await pass(0)
    expect(asked).toHaveLength(2)
    await pass(600_000)
    expect(asked).toHaveLength(2)
  })

  it('are asked for again once per cool-down for a key that is not known', async () => {
    const source = open({ jwksUri: CERTS, cooldownMs: 1_000 })
    await settled(source)
    // without keys, none was unknown
    expect(source.mayAsk).toBe(true)
    expect(await settled(source)).toBe(true)
    expect(source.mayAsk).toBe(false)
    await pass(999)
    expect(source.mayAsk).toBe(false)
    await pass(1)
    expect(source.mayAsk).toBe(true)
    expect(asked).toEqual([CERTS, CERTS])
  })

  it('are shared by all that ask while a fetch runs', async () => {
    const source = open({ jwksUri: CERTS })
    await settled(source)
    const both = [source.ask(), source.ask()]
    expect(source.mayAsk).toBe(true)
    expect(await Promise.all(both)).toEqual([true, true])
    expect(asked).toEqual([CERTS, CERTS])
  })

  it('report a key that disappeared, and nothing for one that is added', async () => {
    const source = open({ jwksUri: CERTS })
    await settled(source)
    response = published(...jwks)
    await settled(source)
    expect(removed).toBe(0)
    response = published(jwks[1]!)
    await settled(source)
    expect([removed, source.keys?.keys.map(key => key.kid)]).toEqual([1, ['k1']])
  })

  it('are logged with the reason where one is left out', async () => {
    response = published({ kty: 'oct', k: 'AA', kid: 'secret' }, jwks[0]!)
    await settled(open({ jwksUri: CERTS }))
    expect(warnings).toEqual([
      [
        { issuer: ISSUER, kid: 'secret', reason: 'the type or algorithm of the key is not accepted' },
        'a key of the identity provider is ignored',
      ],
    ])
  })
})

describe('an outage', () => {
  it('is reported once, is tried again at once and then every second, and its end is reported once', async () => {
    const source = open({ jwksUri: CERTS })
    await settled(source)
    response = DOWN
    expect(await settled(source)).toBe(false)
    expect(source.unreachable).toBe(true)
    // each pause is shortened by up to a half
    await pass(250)
    expect(asked.length).toBeGreaterThanOrEqual(3)
    const before = asked.length
    await pass(10_000)
    expect(asked.length - before).toBeGreaterThanOrEqual(9)
    expect(asked.length - before).toBeLessThanOrEqual(22)
    const reason = 'the signing keys of the identity provider cannot be fetched: connection refused'
    expect(faults).toEqual([reason])
    expect(warnings).toEqual([
      [
        { issuer: ISSUER, reason: 'connection refused', stale: true },
        'the signing keys of the identity provider could not be fetched',
      ],
    ])
    response = published(jwks[0]!)
    await pass(1_000)
    expect([source.unreachable, faults]).toEqual([false, [reason, undefined]])
    const back = asked.length
    await pass(299_000)
    expect(asked).toHaveLength(back)
    // the next outage begins with the shortest pause again
    response = DOWN
    await settled(source)
    await pass(250)
    expect(asked.length).toBeGreaterThanOrEqual(back + 2)
  })

  it('does not start the cool-down of unknown keys, but a separate one', async () => {
    const source = open({ jwksUri: CERTS, cooldownMs: 1_000, firstRetryMs: 5_000 })
    await settled(source)
    response = DOWN
    await settled(source)
    expect(source.mayAsk).toBe(false)
    response = published(jwks[0]!)
    await pass(1_000)
    expect(source.mayAsk).toBe(true)
  })

  it('before the first keys says that there are none to go on with', async () => {
    response = DOWN
    await settled(open({ jwksUri: CERTS }))
    expect(warnings).toMatchObject([
      [{ stale: false }, 'the signing keys of the identity provider could not be fetched'],
    ])
  })

  it('includes a response without a key set, and a rejected fetch', async () => {
    response = { ok: true, json: { keys: [] } }
    const source = open({ jwksUri: CERTS })
    expect(await settled(source)).toBe(false)
    expect(faults).toEqual([
      'the signing keys of the identity provider cannot be fetched: the key set contains no key that can be used',
    ])
    const broken = open({ jwksUri: CERTS, fetchJson: () => Promise.reject(new Error('defect')) })
    expect(await settled(broken)).toBe(false)
    expect(broken.unreachable).toBe(true)
  })

  it('of the keys makes the next try ask for their address again', async () => {
    const source = open()
    await settled(source)
    response = DOWN
    await settled(source)
    response = published(jwks[0]!)
    await settled(source)
    expect(asked).toEqual([DISCOVERY, CERTS, CERTS, DISCOVERY, CERTS])
  })

  it('of the discovery document is an outage too', async () => {
    discovery = DOWN
    const source = open()
    expect(await settled(source)).toBe(false)
    expect(asked).toEqual([DISCOVERY])
    expect(faults).toHaveLength(1)
  })
})
