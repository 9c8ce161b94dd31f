/** The settings of connections (Kafka, Redis, bundle servers, database, control plane) and of certificates: which combinations are refused, by name. */
import { describe, expect, it } from 'vitest'
import { inspectSettings } from '../../../../src/app/settings.ts'

const namesOf = (env: Record<string, string>) => inspectSettings(env).faults.map(fault => fault.name)
const PLAIN = { KAFKA_SASL: 'plain', KAFKA_USERNAME: 'metering', KAFKA_PASSWORD: 'secret' }
const PRODUCTION = {
  NODE_ENV: 'production',
  AUTH_ISSUER: 'https://id.example.com/realms/p',
  GATEWAY_URL: 'https://gw.example.com',
  API_URL: 'https://api.example.com',
}
const OAUTH = {
  KAFKA_SASL: 'oauthbearer',
  KAFKA_TOKEN_URL: 'https://id.example.com/token',
  KAFKA_CLIENT_ID: 'gateway',
  KAFKA_CLIENT_SECRET: 'secret',
}

describe('KAFKA_*', () => {
  it.each([
    [{ KAFKA_SASL: 'plain' }, ['KAFKA_USERNAME', 'KAFKA_PASSWORD']],
    [{ KAFKA_SASL: 'gssapi' }, ['KAFKA_SASL']],
    [{ KAFKA_USERNAME: 'metering' }, ['KAFKA_USERNAME']],
    [{ ...PLAIN, KAFKA_TOKEN: 'token' }, ['KAFKA_TOKEN']],
    [{ KAFKA_SASL: 'oauthbearer' }, ['KAFKA_TOKEN_URL', 'KAFKA_CLIENT_ID', 'KAFKA_CLIENT_SECRET']],
    [{ ...OAUTH, KAFKA_TOKEN: 'token' }, ['KAFKA_TOKEN_URL', 'KAFKA_CLIENT_ID', 'KAFKA_CLIENT_SECRET']],
    [{ KAFKA_CA: 'pem' }, ['KAFKA_CA']],
    [{ KAFKA_TLS: 'true', KAFKA_CA: 'pem' }, ['KAFKA_CA']],
    [{ KAFKA_TLS: 'true', KAFKA_CERT: 'pem', KAFKA_KEY: 'pem' }, ['KAFKA_CERT']],
    [{ KAFKA_TLS: 'true', KAFKA_KEY: 'pem' }, ['KAFKA_KEY']],
    [{ ...PRODUCTION, ...PLAIN }, ['KAFKA_SASL']],
    [
      { ...PRODUCTION, ...OAUTH, KAFKA_TLS: 'true', KAFKA_TOKEN_URL: 'http://id.example.com/t' },
      ['KAFKA_TOKEN_URL'],
    ],
    [{ ...PRODUCTION, ...PLAIN, ALLOW_INSECURE: 'KAFKA_SASL' }, []],
    [{ ...PRODUCTION, ...PLAIN, KAFKA_TLS: 'true' }, []],
    [{ ...OAUTH, KAFKA_SCOPE: 'events' }, []],
    [{ KAFKA_SASL: 'oauthbearer', KAFKA_TOKEN: 'token' }, []],
  ] as const)('%j: faults of %j', (env, names) => {
    expect(namesOf(env)).toEqual(names)
  })
})

it.each([
  ['KAFKA_CLIENT_ID', 'Unset KAFKA_CLIENT_ID, or unset KAFKA_TOKEN.'],
  ['KAFKA_USERNAME', 'Unset KAFKA_USERNAME, or change KAFKA_SASL.'],
])('%s beside KAFKA_TOKEN: %s', (name, fix) => {
  const env = { KAFKA_SASL: 'oauthbearer', KAFKA_TOKEN: 'token', [name]: 'x' }
  expect(inspectSettings(env).faults.map(fault => [fault.name, fault.fix])).toEqual([[name, fix]])
})

describe('REDIS_*', () => {
  const REDIS_URL = 'redis://one:26379'
  it.each([
    [{ REDIS_MODE: 'cluster' }, ['REDIS_URL']],
    [{ REDIS_URL, REDIS_NODES: 'two:1' }, ['REDIS_NODES']],
    [{ REDIS_URL, REDIS_MODE: 'cluster', REDIS_NODES: 'two' }, ['REDIS_NODES']],
    [{ REDIS_URL: `${REDIS_URL}/3`, REDIS_MODE: 'cluster' }, ['REDIS_URL']],
    [{ REDIS_URL, REDIS_MODE: 'sentinel' }, ['REDIS_MASTER']],
    [{ REDIS_URL, REDIS_MASTER: 'main' }, ['REDIS_MASTER']],
    [{ REDIS_URL: 'redis://user:secret@one', REDIS_PASSWORD: 'other' }, ['REDIS_PASSWORD']],
    [{ REDIS_URL, REDIS_CA: 'pem' }, ['REDIS_CA']],
    [{ REDIS_URL: 'rediss://one', REDIS_CA: 'pem' }, ['REDIS_CA']],
  ] as const)('%j: faults of %j', (env, names) => {
    expect(namesOf(env)).toEqual(names)
  })

  it('reads servers, user and password', () => {
    const { settings, faults } = inspectSettings({
      REDIS_URL: 'rediss://us%40er:p%3Ass@[::1]/2',
      REDIS_MODE: 'sentinel',
      REDIS_NODES: 'two:26380, [::2]:26381',
      REDIS_MASTER: 'main',
    })
    expect(faults).toEqual([])
    expect(settings.redis).toMatchObject({
      nodes: [
        { host: '::1', port: 6379 },
        { host: 'two', port: 26380 },
        { host: '::2', port: 26381 },
      ],
      database: 2,
      username: 'us@er',
      password: { text: 'p:ss' },
      sentinel: { master: 'main' },
    })
  })
})

describe('POLICY_TOKEN, DATABASE_DIRECT_URL', () => {
  it.each([
    [{ POLICY_TOKEN: 'token' }, ['POLICY_TOKEN']],
    [{ POLICY_TOKEN: 'token', POLICY_BUNDLE: 'http://bundles.example.com/b.tar.gz' }, ['POLICY_TOKEN']],
    [{ POLICY_TOKEN: 'token', POLICY_BUNDLE: 'https://bundles.example.com/b.tar.gz' }, []],
    [{ POLICY_TOKEN: 'token', POLICY_BUNDLE: 'HTTPS://bundles.example.com/b.tar.gz' }, []],
    [{ POLICY_BUNDLE: 'https://bundles.example.com:port/b.tar.gz' }, ['POLICY_BUNDLE']],
    [{ POLICY_SHADOW: 'https://' }, ['POLICY_SHADOW']],
    [{ DATABASE_DIRECT_URL: 'postgres://db/toolgate' }, ['DATABASE_DIRECT_URL']],
    [{ DATABASE_DIRECT_URL: 'postgres://db/toolgate', DATABASE_URL: 'postgres://pooler/toolgate' }, []],
  ] as const)('%j: faults of %j', (env, names) => {
    expect(namesOf(env)).toEqual(names)
  })
})

describe('certificates of listeners and of the link between the planes', () => {
  const GATEWAY = {
    ROLE: 'gateway',
    AUTH_ISSUER: 'https://id.example.com',
    GATEWAY_CLIENT_ID: 'id',
    GATEWAY_CLIENT_SECRET: 'secret',
  }
  it.each([
    [{ GATEWAY_CERT: 'pem', GATEWAY_KEY: 'pem' }, ['GATEWAY_CERT']],
    [{ GATEWAY_KEY: 'pem' }, ['GATEWAY_KEY']],
    [{ API_CLIENT_CA: 'pem' }, ['API_CLIENT_CA']],
    [{ API_CERT: 'pem', API_KEY: 'pem', API_CLIENT_CA: 'pem' }, ['API_CERT', 'API_CLIENT_CA']],
    [{ HTTP_SERVER: 'uws', API_CERT: 'pem', API_KEY: 'pem' }, ['API_CERT', 'HTTP_SERVER']],
    [{ CONTROL_PLANE_CA: 'pem' }, ['CONTROL_PLANE_CA']],
    [
      { ...GATEWAY, CONTROL_PLANE_URL: 'http://localhost:1', CONTROL_PLANE_KEY: 'pem' },
      ['CONTROL_PLANE_KEY'],
    ],
    [
      { ...GATEWAY, CONTROL_PLANE_URL: 'https://api.example.com', CONTROL_PLANE_CA: 'pem' },
      ['CONTROL_PLANE_CA'],
    ],
  ] as const)('%j: faults of %j', (env, names) => {
    expect(namesOf(env)).toEqual(names)
  })

  it('know HTTPS in capitals (RFC 3986, section 3.1)', () => {
    const { settings } = inspectSettings({ ...GATEWAY, CONTROL_PLANE_URL: 'HTTPS://api.example.com/' })
    expect(settings.controlPlane?.url).toBe('https://api.example.com')
  })
})
