/** Reads the settings of a deployment from the environment and checks them, also in combination. */
import { isLoopback } from '../base/loopback.ts'
import { readHeldBytesMax } from './settings/held-bytes.ts'
import { readMetering } from './settings/metering.ts'
import { readNodeEnv } from './settings/node-env.ts'
import { readPages } from './settings/pages.ts'
import { readPolicySettings } from './settings/policy.ts'
import { readPresentation } from './settings/presentation.ts'
import { guardProduction } from './settings/production.ts'
import { isCidr, NO_PROVIDER, Reader, readIssuer, type SettingFault } from './settings/reader.ts'
import { readRedis } from './settings/redis.ts'
import { readRole } from './settings/role.ts'
import { readSecretsKey } from './settings/secrets-key.ts'
import { checkServerTls } from './settings/server-tls.ts'
import { readSmtp } from './settings/smtp.ts'
import { readTokenExchangeUrls } from './settings/token-exchange.ts'
import { readToolSetSettings } from './settings/tool-sets.ts'
import { findUnknownSettings } from './settings/unknown.ts'
import { readWorkers } from './settings/workers.ts'

/** All settings, as `readAll` reads them; their comments are there. */
export type Settings = ReturnType<typeof readAll>

/** All faults of the environment at once; the command exits with 78 (EX_CONFIG). */
export class SettingsError extends Error {
  readonly faults: readonly SettingFault[]
  constructor(faults: readonly SettingFault[]) {
    super(
      `${faults.length === 1 ? '1 setting is invalid' : `${faults.length} settings are invalid`}:\n${faults.map(f => `  ${f.name} ${f.reason} ${f.fix}`).join('\n')}`,
    )
    this.name = 'SettingsError'
    this.faults = faults
  }
}

const CONSOLE_AND_PORTAL = 'http://localhost:3000,http://localhost:5173'

type Environment = Readonly<Record<string, string | undefined>>

/** Each setting with its default; an invalid one adds its fault to the reader, and a process must not start with its value. */
function readAll(read: Reader) {
  const nodeEnv = readNodeEnv(read)
  const isProduction = nodeEnv === 'production'
  const issuer = readIssuer(read)
  const gatewayUrl = read.url('GATEWAY_URL')
  const backendResponseMaxBytes = read.bytes('BACKEND_RESPONSE_MAX', '8MiB', 65_536)
  return {
    ...readRole(read, issuer === NO_PROVIDER ? undefined : issuer),
    nodeEnv,
    dataDir: read.text('DATA_DIR', './data'),
    httpServer: read.oneOf('HTTP_SERVER', ['auto', 'uws', 'node'], 'auto'),
    /** false: each call is parsed and written as any other request; docs/decisions/0014-fast-path.md. */
    fastPath: read.flag('FAST_PATH', true),
    /** Undefined: where the parser verifies their framing. */
    allowChunkedRequests: { auto: undefined, true: true, false: false }[
      read.oneOf('ALLOW_CHUNKED_REQUESTS', ['auto', 'true', 'false'], 'auto')
    ],
    /** Between the signal to stop and the drain: readiness is off, and calls are served. */
    shutdownDelayMs: read.durationMs('SHUTDOWN_DELAY', isProduction ? '5s' : '0s'),
    drainTimeoutMs: read.durationMs('DRAIN_TIMEOUT', '10s'),
    presentation: readPresentation(read),
    gateway: {
      host: read.text('GATEWAY_HOST', '127.0.0.1'),
      port: read.port('GATEWAY_PORT', 8080),
      url: gatewayUrl,
      tls: checkServerTls(read, 'GATEWAY', {
        cert: read.renewable('GATEWAY_CERT'),
        key: read.renewable('GATEWAY_KEY'),
        clientCa: undefined,
      }),
    },
    api: {
      host: read.text('API_HOST', '127.0.0.1'),
      port: read.port('API_PORT', 8081),
      url: read.url('API_URL'),
      tls: checkServerTls(read, 'API', {
        cert: read.renewable('API_CERT'),
        key: read.renewable('API_KEY'),
        clientCa: read.renewable('API_CLIENT_CA'),
      }),
    },
    auth: {
      /** `embedded`: started on `devPort`, for development. `none`: no token is accepted. */
      provider: issuer === undefined ? 'embedded' : issuer === NO_PROVIDER ? 'none' : 'external',
      /** undefined for the embedded provider, the word itself for `none`. */
      issuer,
      devPort: read.port('AUTH_PORT', 8082),
      allowedAudiences: read.list('ALLOWED_AUDIENCES', 'platform-mcp-gateway,account'),
      /** Token endpoints that get tokens of callers, besides that of the issuer. */
      tokenExchangeUrls: readTokenExchangeUrls(read),
      /** How scopes of a token and of its roles combine. */
      scopes: read.oneOf('SCOPES', ['union', 'intersection'], 'union'),
      /** Used after a registration to make the new client public; both or none. */
      adminClientId: read.optional('AUTH_ADMIN_CLIENT_ID'),
      adminClientSecret: read.optional('AUTH_ADMIN_CLIENT_SECRET'),
      /** Derived from the issuer when absent. */
      adminUrl: read.url('AUTH_ADMIN_URL'),
    },
    /** `pglite:` (in `dataDir`), `pglite:<dir>`, `pglite:memory` or `postgres://…`. */
    databaseUrl: read.text('DATABASE_URL', 'pglite:'),
    /** The same PostgreSQL without a connection pooler. */
    databaseDirectUrl: read.url('DATABASE_DIRECT_URL', ['postgresql:', 'postgres:']),
    /** Encrypts secrets in the database; undefined: a generated key in `dataDir`. */
    secretsKey: readSecretsKey(read),
    console: {
      enabled: read.flag('CONSOLE', true),
      /** Client id of a public client at the provider; undefined: the console registers itself. */
      clientId: read.optional('CONSOLE_CLIENT_ID'),
    },
    pages: readPages(read, gatewayUrl),
    portal: {
      enabled: read.flag('PORTAL', true),
      /** Path of a file; undefined: the look of the package. */
      theme: read.optional('PORTAL_THEME'),
      /** Requests of visitors per client address and minute. */
      visitorRatePerMin: read.integer('PORTAL_RATE_PER_MIN', 120, 1, 1_000_000),
    },
    /** undefined: notices are not sent by mail. */
    smtp: readSmtp(read),
    gatewayName: read.text('GATEWAY_NAME', 'gateway'),
    /** Adds `POST /test/clock` to the API port. */
    testHooks: read.flag('TEST_HOOKS', false),
    /** undefined: sessions and quotas stay in this process. */
    redis: readRedis(read),
    policy: readPolicySettings(read, isProduction),
    toolSets: readToolSetSettings(read, isProduction),
    apiGroup: read.text('API_GROUP', 'toolgate.dev'),
    // the plans and tool sets of the package are those of the example
    plansFile: read.path('PLANS', './plans.yaml', !isProduction),
    /** A module with stages of the deployment. */
    stages: read.optional('STAGES'),
    cors: {
      origins: read.list('CORS_ORIGINS', CONSOLE_AND_PORTAL),
      methods: read.list('CORS_ALLOW_METHODS', 'GET,POST,PUT,DELETE,OPTIONS'),
      allowHeaders: read.list('CORS_ALLOW_HEADERS', 'Authorization,Content-Type,X-Request-ID,X-Tenant-ID'),
      exposeHeaders: read.list('CORS_EXPOSE_HEADERS', 'X-Request-ID,X-Trace-ID'),
      maxAgeSecs: read.integer('CORS_MAX_AGE', 600, 0, 86_400),
    },
    sessions: {
      ttlMs: read.durationMs('SESSION_TTL', '30m'),
      max: read.integer('MAX_SESSIONS', 100_000, 1, 10_000_000),
    },
    sse: {
      limiterEnabled: read.flag('SSE_LIMITER_ENABLED', true),
      /** CIDRs. */
      trustedProxies: read.list('SSE_TRUSTED_PROXIES', ''),
      maxPerIp: read.integer('MAX_PER_IP', 10, 1, 1_000_000),
      maxPerTenant: read.integer('MAX_PER_TENANT', 100, 1, 1_000_000),
      maxTotal: read.integer('MAX_TOTAL', 5000, 1, 1_000_000),
      newPerMinutePerIp: read.integer('RATE_LIMIT_PER_MIN', 5, 1, 1_000_000),
      idleTimeoutMs: read.durationMs('IDLE_TIMEOUT', '30s'),
      maxDurationMs: read.durationMs('MAX_DURATION', '1h'),
    },
    egressAllow: read.list('EGRESS_ALLOW', ''),
    /** Names of settings whose insecure values production accepts; see `guardProduction`. */
    allowInsecure: read.list('ALLOW_INSECURE', ''),
    /** 0: kept without end. */
    auditRetentionMs: read.durationMs('AUDIT_RETENTION', '365d'),
    quotaStatsTtlMs: read.durationMs('QUOTA_STATS_TTL', '5s'),
    /** Whether a Redis without data is taken for a new one. */
    quotaEmptyStore: read.oneOf('QUOTA_EMPTY_STORE', ['trust', 'wait'], isProduction ? 'wait' : 'trust'),
    example: {
      enabled: read.flag('EXAMPLE', !isProduction),
      port: read.port('EXAMPLE_PORT', 8090),
    },
    logLevel: read.oneOf('LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
    /** Further names under which every listener serves; see `allowHosts`. */
    allowedHosts: read.list('ALLOWED_HOSTS', ''),
    metrics: {
      /** Undefined: that of the gateway, or of the control plane where it runs alone. */
      host: read.optional('METRICS_HOST'),
      port: read.port('METRICS_PORT', 9464),
      maxConsumers: read.integer('METRICS_MAX_CONSUMERS', 1000, 1, 100_000),
    },
    metering: readMetering(read),
    telemetry: readTelemetry(read),
    /** Threads that serve calls, where the listener can share its port. */
    workers: readWorkers(read),
    /** Failed or unauthenticated attempts per client address and minute; 0: no limit. */
    preAuthRatePerMin: read.integer('PRE_AUTH_RATE_PER_MIN', 600, 0, 1_000_000),
    /** Client registrations per client address and minute; 0: no limit. */
    registrationRatePerMin: read.integer('REGISTRATION_RATE_PER_MIN', 10, 0, 1_000_000),
    /** Result maximum bytes of the texts of one tool result, for MCP clients. */
    resultMaxBytes: read.bytes('RESULT_MAX', '100KiB', 1024),
    /** For calls that run as tasks of MCP. */
    tasks: {
      maxTtlMs: read.durationMs('TASK_TTL_MAX', '1h'),
      maxPerCaller: read.integer('TASKS_PER_CALLER', 64, 1, 10_000),
      maxResultBytes: read.bytes('TASK_RESULT_MAX', '256KiB', 1024),
    },
    /** Backend response maximum bytes of one response of a backend, which is read whole. */
    backendResponseMaxBytes,
    /** For bodies and responses that all threads hold. */
    heldBytesMax: readHeldBytesMax(read, backendResponseMaxBytes),
    /** Response timeout of a client, for a response that is held whole. */
    responseTimeoutMs: read.durationMs('RESPONSE_TIMEOUT', '60s'),
    maxInFlight: read.integer('MAX_IN_FLIGHT', 10_000, 1, 1_000_000),
    /** For which a call may wait for a connection to its backend. */
    upstreamQueueMs: read.durationMs('UPSTREAM_QUEUE_TIMEOUT', '5s'),
    /** How many calls a backend gets at once. */
    upstreamConcurrency: read.oneOf('UPSTREAM_CONCURRENCY', ['fixed', 'adaptive'], 'fixed'),
  } as const
}

/** Reads all settings, valid or not; with faults, a process must not start with them. */
export function inspectSettings(env: Environment): {
  readonly settings: Settings
  readonly faults: readonly SettingFault[]
} {
  const read = new Reader(env)
  const settings = readAll(read)
  if ((settings.auth.adminClientId === undefined) !== (settings.auth.adminClientSecret === undefined)) {
    read.fault(
      'AUTH_ADMIN_CLIENT_SECRET',
      'and AUTH_ADMIN_CLIENT_ID must be set together, but one of them is missing.',
      'Set both or neither.',
    )
  }
  for (const cidr of settings.sse.trustedProxies) {
    if (!isCidr(cidr))
      read.fault(
        'SSE_TRUSTED_PROXIES',
        `contains "${cidr}", which is neither an IP address nor a CIDR block.`,
        'List IP addresses or CIDR blocks, such as "10.0.0.0/8".',
      )
  }
  checkHosts(settings, read)
  if (settings.httpServer === 'uws' && (settings.gateway.tls ?? settings.api.tls) !== undefined)
    read.fault(
      'HTTP_SERVER',
      'is uws, but a listener has a certificate (GATEWAY_CERT or API_CERT), and only HTTP_SERVER=node supports TLS.',
      'Set HTTP_SERVER=auto, or terminate TLS in a proxy.',
    )
  if (settings.databaseDirectUrl !== undefined && !/^postgres(ql)?:/.test(settings.databaseUrl))
    read.fault(
      'DATABASE_DIRECT_URL',
      'is set, but DATABASE_URL selects the embedded database.',
      'Set DATABASE_URL to the address of the connection pooler, or unset DATABASE_DIRECT_URL.',
    )
  if (settings.nodeEnv === 'production') productionFaults(settings, read)
  for (const { name, nearest } of findUnknownSettings(Object.keys(env), read.known))
    read.fault(name, 'is not a setting.', `Did you mean ${nearest}? Rename or unset ${name}.`)
  return { settings, faults: read.faults }
}

const HOST_NAME = /^(?:\*|(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]{0,252}[a-z0-9_.])?)$/i

function checkHosts({ allowedHosts, auth, gateway, api, metrics }: Settings, read: Reader): void {
  for (const name of allowedHosts) {
    if (!HOST_NAME.test(name))
      read.fault(
        'ALLOWED_HOSTS',
        `contains "${name}", which is not a host name.`,
        'List host names without scheme and port, such as "gw.example.com" or "*.example.com".',
      )
  }
  const isExposed = auth.provider === 'embedded' && !isLoopback(gateway.host)
  const insecureDev = read.flag('ALLOW_INSECURE_DEV', false)
  const exposed = [gateway.host, api.host, metrics.host].find(host => host !== undefined && !isLoopback(host))
  if (exposed !== undefined && !insecureDev && read.optional('NODE_ENV') === undefined) {
    read.fault(
      'NODE_ENV',
      `is not set, but a listener is on ${exposed}, which other machines can reach. The defaults are for development and are not safe on such an address.`,
      'Set NODE_ENV=production, or set NODE_ENV=development to accept the development defaults.',
    )
  }
  if (isExposed && !insecureDev) {
    read.fault(
      'AUTH_ISSUER',
      `is not set, and GATEWAY_HOST is ${gateway.host}: the embedded identity provider gives an admin token to everyone who can reach that address.`,
      'Set AUTH_ISSUER to the issuer of your identity provider, or set GATEWAY_HOST to 127.0.0.1. In a network that you trust, you can set ALLOW_INSECURE_DEV=true instead.',
    )
  }
}

function productionFaults(settings: Settings, read: Reader): void {
  guardProduction(settings, read)
  if (settings.auth.issuer === undefined) {
    read.fault(
      'AUTH_ISSUER',
      'is missing: the embedded identity provider is for development only.',
      'Set AUTH_ISSUER to the issuer of your identity provider.',
    )
  }
  const open = settings.cors.origins.find(origin => origin === '*' || origin === 'null')
  if (open !== undefined) {
    read.fault(
      'CORS_ORIGINS',
      `contains "${open}", which lets any web page call the gateway.`,
      'List the origins of your web pages.',
    )
  }
  if (settings.auth.allowedAudiences.length === 0) {
    read.fault(
      'ALLOWED_AUDIENCES',
      'is empty, which switches the audience check off.',
      'List the audiences (claim aud) of your tokens.',
    )
  }
  if (settings.testHooks) {
    read.fault('TEST_HOOKS', 'is on, so callers can change the clock of this process.', 'Unset TEST_HOOKS.')
  }
  if (settings.gateway.url === undefined) {
    read.fault(
      'GATEWAY_URL',
      'is missing: OAuth metadata and sign-in redirects must contain the public address of the gateway.',
      'Set GATEWAY_URL to the public address of the gateway.',
    )
  }
}

export function readTelemetry(read: Reader) {
  const given = {
    OTEL_EXPORTER_OTLP_ENDPOINT: read.url('OTEL_EXPORTER_OTLP_ENDPOINT'),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: read.url('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'),
  }
  const endpoints = read.flag('OTEL_SDK_DISABLED', false) ? {} : given
  return {
    /** Share of the successful calls that are logged, 0 to 1; refused and failed ones always are. */
    accessLogSample: read.share('ACCESS_LOG_SAMPLE', '1'),
    /** Share of the calls whose stages are timed, 0 to 1. */
    stageTimingSample: read.share('STAGE_TIMING_SAMPLE', '0.01'),
    /** Endpoints of span collectors, by the name of the setting. */
    endpoints,
    /** Spans are exported. */
    traces: Object.values(endpoints).some(endpoint => endpoint !== undefined),
  } as const
}
