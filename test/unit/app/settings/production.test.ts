/** What production refuses by name, what `ALLOW_INSECURE` lifts, listeners that other machines reach, and misspelled names. */
import { describe, expect, it } from 'vitest'
import { inspectSettings } from '../../../../src/app/settings.ts'

const SOUND = {
  NODE_ENV: 'production',
  AUTH_ISSUER: 'https://id.example.com/realms/p',
  GATEWAY_URL: 'https://gw.example.com',
  API_URL: 'https://api.example.com',
}
const GATEWAY = {
  ROLE: 'gateway',
  GATEWAY_CLIENT_ID: 'edge',
  GATEWAY_CLIENT_SECRET: 'secret',
  CONTROL_PLANE_URL: 'https://control:8081',
}
const faultsOf = (env: Record<string, string>) => inspectSettings({ ...SOUND, ...env }).faults
const namesOf = (env: Record<string, string>) => faultsOf(env).map(fault => fault.name)

const INSECURE: readonly (readonly [name: string, env: Record<string, string>])[] = [
  ['AUTH_ISSUER', { AUTH_ISSUER: 'http://id.example.com/realms/p' }],
  ['AUTH_ISSUER', { AUTH_ISSUER: 'HTTP://id.example.com/realms/p' }],
  ['GATEWAY_URL', { GATEWAY_URL: 'http://gw.example.com' }],
  ['API_URL', { API_URL: 'http://api.example.com' }],
  ['API_URL', { API_URL: '' }],
  ['API_URL', { API_URL: '', CONSOLE: 'false' }],
  ['PAGES_URL', { PAGES_URL: 'http://pages.example.com' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgres://u:p@db.example.com/t' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgresql://u:p@db.example.com/t?sslmode=disable' }],
  ['AUTH_ADMIN_URL', { AUTH_ADMIN_URL: 'http://id.example.com/admin' }],
  ['CONTROL_PLANE_URL', { ...GATEWAY, CONTROL_PLANE_URL: 'http://control:8081' }],
  ['POLICY_BUNDLE', { POLICY_BUNDLE: 'http://bundles.example.com/b.tar.gz', POLICY_KEY: 'pem' }],
  ['POLICY_SHADOW', { POLICY_SHADOW: 'http://bundles.example.com/b.tar.gz', POLICY_KEY: 'pem' }],
  ['POLICY_KEY', { POLICY_BUNDLE: 'https://bundles.example.com/b.tar.gz' }],
  ['POLICY_KEY', { POLICY_SHADOW: 'https://bundles.example.com/b.tar.gz' }],
  ['REDIS_URL', { REDIS_URL: 'redis://cache.example.com' }],
  [
    'REDIS_URL',
    { REDIS_URL: 'redis://127.0.0.1', REDIS_MODE: 'cluster', REDIS_NODES: 'cache.example.com:6379' },
  ],
  ['KAFKA_TLS', { METERING_ENABLED: 'true', KAFKA_BROKERS: 'localhost:9092,kafka.example.com:9092' }],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://spans.example.com:4318' }],
  [
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://spans.example.com:4318/v1/traces' },
  ],
  ['POLICY_URL', { POLICY_ENGINE: 'opa-http', POLICY_URL: 'http://opa.example.com/v1/data' }],
  ...[
    '0.0.0.0/0',
    '::/0',
    '0.0.0.0/1',
    '128.0.0.0/1',
    '169.254.0.0/16',
    '169.254.169.254',
    '169.254.169.254/32',
    '169.254.170.2',
    '169.252.0.0/14',
    '168.63.129.16',
    'fe80::/10',
    'fe80::1',
    'metadata.google.internal',
    'unix:/run/docker.sock',
    'unix:/var/run/docker.sock',
    'unix:/run/',
    'unix:/var/',
    'unix:/run/containerd/',
  ].map(entry => ['EGRESS_ALLOW', { EGRESS_ALLOW: `10.0.0.0/8,${entry}` }] as const),
  ...['0.0.0.0/0', '::/0', '0.0.0.0/1'].map(
    cidr => ['SSE_TRUSTED_PROXIES', { SSE_TRUSTED_PROXIES: cidr }] as const,
  ),
]

describe('production', () => {
  it.each(INSECURE)('refuses %s of %j by name, with the fix, unless ALLOW_INSECURE names it', (name, env) => {
    const faults = faultsOf(env)
    expect(faults.map(fault => fault.name)).toEqual([name])
    expect(faults[0]!.fix).toContain(`add ${name} to ALLOW_INSECURE`)
    expect(namesOf({ ...env, ALLOW_INSECURE: name })).toEqual([])
  })

  it.each([
    {},
    GATEWAY,
    { ...GATEWAY, API_URL: '', PAGES_URL: 'https://pages.example.com' },
    { API_URL: '', CONSOLE: 'false', PORTAL: 'false' },
    { PAGES_URL: 'http://pages.localhost:8080' },
    { POLICY_BUNDLE: 'https://bundles.example.com/b.tar.gz', POLICY_KEY: 'pem' },
    { POLICY_ENGINE: 'opa-http', POLICY_URL: 'http://127.0.0.1:8181/v1/data' },
    { AUTH_ISSUER: 'none' },
    { REDIS_URL: 'rediss://cache.example.com' },
    { REDIS_URL: 'redis://[::1]', REDIS_MODE: 'cluster', REDIS_NODES: 'localhost:6380' },
    { METERING_ENABLED: 'true', KAFKA_BROKERS: 'kafka.example.com:9092', KAFKA_TLS: 'true' },
    { METERING_ENABLED: 'true', KAFKA_BROKERS: '[::1]:9092,127.0.0.1:9092' },
    { KAFKA_BROKERS: 'kafka.example.com:9092' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://spans.example.com:4318', OTEL_SDK_DISABLED: 'true' },
    { EGRESS_ALLOW: '10.0.0.0/8,192.168.0.0/16,fc00::/7,backend.internal,169.253.0.0/16' },
    { EGRESS_ALLOW: 'unix:/run/backends/,unix:/run/shop.sock,unix:/var/run/shop/' },
    { SSE_TRUSTED_PROXIES: '10.0.0.0/8,::1' },
  ])('accepts %j', env => {
    expect(faultsOf(env)).toEqual([])
  })

  it('does not let ALLOW_INSECURE lift anything else', () => {
    expect(namesOf({ CORS_ORIGINS: 'https://a.example,null' })).toEqual(['CORS_ORIGINS'])
    for (const host of ['db.example.com/t?sslmode=verify-full', '127.0.0.1/t', '[::1]/t'])
      expect(namesOf({ DATABASE_URL: `postgres://u:p@${host}` })).toEqual([])
    expect(namesOf({ CORS_ORIGINS: '*', ALLOW_INSECURE: 'CORS_ORIGINS' }).sort()).toEqual([
      'ALLOW_INSECURE',
      'CORS_ORIGINS',
    ])
  })
})

describe('a listener that other machines reach', () => {
  const namesWithout = (env: Record<string, string>) =>
    inspectSettings({ AUTH_ISSUER: 'https://id.example.com', ...env }).faults.map(fault => fault.name)

  it.each(['GATEWAY_HOST', 'API_HOST', 'METRICS_HOST'])('needs NODE_ENV with %s', name => {
    expect(namesWithout({ [name]: '0.0.0.0' })).toEqual(['NODE_ENV'])
    expect(namesWithout({ [name]: '0.0.0.0', NODE_ENV: 'development' })).toEqual([])
    expect(namesWithout({ [name]: '127.0.0.1' })).toEqual([])
  })

  it('does not get the embedded provider without ALLOW_INSECURE_DEV', () => {
    const env = { GATEWAY_HOST: '0.0.0.0', NODE_ENV: 'development' }
    expect(inspectSettings(env).faults.map(fault => fault.name)).toEqual(['AUTH_ISSUER'])
    expect(inspectSettings({ ...env, ALLOW_INSECURE_DEV: 'true' }).faults).toEqual([])
    expect(inspectSettings({ GATEWAY_HOST: '::', ALLOW_INSECURE_DEV: 'true' }).faults).toEqual([])
  })
})

describe('names', () => {
  it.each([
    ['GATEWAY_PROT', 'GATEWAY_PORT'],
    ['CORS_ORIGIN', 'CORS_ORIGINS'],
    ['SSE_TRUSTED_PROXY', 'SSE_TRUSTED_PROXIES'],
    ['gateway_port', 'GATEWAY_PORT'],
    ['TOOLGATE_GATEWAY_PORT', 'GATEWAY_PORT'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['AUTH_ISSUERS', 'AUTH_ISSUER'],
    ['SECRET_KEY_FILE', 'SECRETS_KEY'],
    ['ALLOWED_AUDIENCE', 'ALLOWED_AUDIENCES'],
  ])('%s is refused with the nearest setting %s', (name, nearest) => {
    const faults = inspectSettings({ [name]: '1' }).faults.filter(fault => fault.name === name)
    expect(faults).toHaveLength(1)
    expect(faults[0]!.fix).toContain(`Did you mean ${nearest}?`)
  })

  it('leaves variables of others alone', () => {
    const others = [
      'PATH HOME USER SHELL LANG PWD TERM HOSTNAME NODE_OPTIONS NODE_ENV NO_COLOR CI TZ LC_ALL DEBUG PORT HOST TMPDIR SSH_AUTH_SOCK',
      'KUBERNETES_SERVICE_HOST KUBERNETES_PORT_443_TCP_ADDR GATEWAY_SERVICE_HOST GATEWAY_SERVICE_PORT GATEWAY_PORT_8080_TCP API_PORT_80_TCP',
      'npm_config_cache npm_lifecycle_event HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE PGHOST PGPORT GPG_KEY XDG_DATA_DIRS DISPLAY',
    ]
    const names = others.join(' ').split(' ')
    expect(inspectSettings(Object.fromEntries(names.map(name => [name, '']))).faults).toEqual([])
  })
})
