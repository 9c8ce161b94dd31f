/** Which token endpoints get tokens of callers, before and after the issuer is known, and which settings list them. */
import { describe, expect, it } from 'vitest'
import { inspectSettings } from '../../../../../src/app/settings.ts'
import { ExchangeReview } from '../../../../../src/control-plane/publisher/exchange-review.ts'
import { createEgress } from '../../../../../src/net/egress/client.ts'
import { BackendTokens } from '../../../../../src/net/egress/oauth/backend-tokens.ts'
import {
  exchangeEndpoints,
  exchangeUrl,
  type MayExchangeAt,
} from '../../../../../src/net/egress/oauth/exchange-endpoints.ts'
import { startOAuthServer } from '../../../../fixtures/oauth-server.ts'

const LISTED = 'https://listed.example/token'
const OF_ISSUER = 'https://id.example/token'

describe('the token endpoint of the issuer', () => {
  it('is unknown until the discovery document is read, and a listed one is permitted meanwhile', () => {
    const issuer = { ready: false, tokenEndpoint: undefined as string | undefined }
    const mayExchangeAt = exchangeEndpoints([LISTED], issuer)
    expect([mayExchangeAt(OF_ISSUER), mayExchangeAt(LISTED)]).toEqual(['unknown', 'permitted'])
    issuer.tokenEndpoint = 'HTTPS://id.example:443/token'
    expect([mayExchangeAt(OF_ISSUER), mayExchangeAt('https://other.example/')]).toEqual([
      'permitted',
      'refused',
    ])
  })

  it('is absent without an identity provider', () => {
    expect(exchangeEndpoints([], { ready: true })(OF_ISSUER)).toBe('refused')
  })

  it('makes a review of published APIs due once it is known', () => {
    const issuer = { ready: false, tokenEndpoint: undefined as string | undefined }
    const faults: unknown[] = []
    const review = new ExchangeReview({
      mayExchangeAt: exchangeEndpoints([LISTED], issuer),
      onFault: (_, error) => faults.push(error),
    })
    const at = (id: string, tokenUrl: string) => ({
      id,
      mcp: { authentication: { type: 'token_exchange', tokenUrl } },
    })
    const apis = [at('a', 'https://other.example/'), at('b', LISTED), { id: 'c', mcp: null }] as never
    const ids = () => review.permittedApis(apis).map(({ id }) => id)
    expect(ids()).toEqual(['a', 'b', 'c'])
    expect(review.takeDue()).toBe(false)
    issuer.tokenEndpoint = OF_ISSUER
    expect(review.takeDue()).toBe(true)
    expect(ids()).toEqual(['b', 'c'])
    expect(ids()).toEqual(['b', 'c'])
    expect(review.takeDue()).toBe(false)
    expect(faults).toHaveLength(1)
  })
})

it('is compared in the form of WHATWG', () => {
  expect(exchangeUrl('HTTPS://Id.Example:443/a/%2e%2E/token?x=1')).toBe('https://id.example/token?x=1')
  for (const invalid of [
    '',
    'token',
    'ftp://a.example/',
    'https://u:p@a.example/',
    'https://a.example/#',
    'http+unix://%2Fa/',
  ])
    expect(exchangeUrl(invalid), invalid).toBeUndefined()
})

describe('TOKEN_EXCHANGE_URLS', () => {
  const PRODUCTION = {
    NODE_ENV: 'production',
    AUTH_ISSUER: 'https://id.example',
    GATEWAY_URL: 'https://gw.example',
    API_URL: 'https://api.example',
  }
  const names = (env: object) => inspectSettings(env as never).faults.map(({ name }) => name)

  it('lists exact addresses', () => {
    const { settings, faults } = inspectSettings({ TOKEN_EXCHANGE_URLS: `${LISTED}, http://a.example/t` })
    expect([settings.auth.tokenExchangeUrls, faults]).toEqual([[LISTED, 'http://a.example/t'], []])
  })

  it.each(['token', 'https://u:p@a.example/', 'https://a.example/#x', '*'])('refuses %s', entry => {
    expect(names({ TOKEN_EXCHANGE_URLS: `${LISTED},${entry}` })).toEqual(['TOKEN_EXCHANGE_URLS'])
  })

  it('takes plain HTTP in production on loopback only', () => {
    const refused = { ...PRODUCTION, TOKEN_EXCHANGE_URLS: `${LISTED},http://a.example/t` }
    expect(names(refused)).toEqual(['TOKEN_EXCHANGE_URLS'])
    expect(names({ ...refused, ALLOW_INSECURE: 'TOKEN_EXCHANGE_URLS' })).toEqual([])
    expect(names({ ...PRODUCTION, TOKEN_EXCHANGE_URLS: 'http://127.0.0.1:1/t' })).toEqual([])
  })
})

it('is asked before a token of a caller is sent, again after a second', async () => {
  const server = await startOAuthServer()
  const egress = createEgress({ allow: [], allowLoopback: true })
  let nowMs = 0
  let permission: ReturnType<MayExchangeAt> = 'unknown'
  const tokens = new BackendTokens({ egress, now: () => nowMs, mayExchangeAt: () => permission })
  const oauth = { tokenUrl: `${server.url}/token`, clientId: 'x', clientAuthentication: 'none' } as const
  const subjectToken = `.${Buffer.from('{"sub":"a"}').toString('base64url')}.`
  const token = () => tokens.token({ type: 'token_exchange', oauth }, { subjectToken, expiresAtMs: 1e6 })
  try {
    expect(await token()).toMatchObject({ kind: 'fault', reason: 'unavailable' })
    permission = 'refused'
    nowMs += 1_000
    expect(await token()).toMatchObject({ kind: 'fault', reason: 'refused' })
    expect([server.requests.length, tokens.counts.requests]).toEqual([0, 0])
    permission = 'permitted'
    nowMs += 1_000
    expect(await token()).toMatch(/^for-a\./)
  } finally {
    await egress.close()
    await server.close()
  }
})
