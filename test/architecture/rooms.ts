/** Where every room stands and which vendor lives where: the one table that says so. It checks nothing; `rules.ts` does. */

/** Imports point down only: a file may import its own room and anything of a lower floor. */
export const FLOORS = ['model', 'interface', 'snapshot', 'part', 'door', 'top'] as const
export type Floor = (typeof FLOORS)[number]

export interface Place {
  /** Folder (ends with `/`) or file, from `src/`. The longest one that fits a file is its place. */
  readonly path: string
  readonly floor: Floor
}

const on = (floor: Floor, ...paths: string[]): Place[] => paths.map(path => ({ path, floor }))

export const PLACES: readonly Place[] = [
  ...on('model', 'model/', 'version.ts'),
  // what everybody above may speak of; interfaces and the pipeline may speak of each other
  ...on(
    'interface',
    'pipeline/',
    'egress/egress.ts',
    'identity/verifier.ts',
    'meter/meter.ts',
    'policy/engine.ts',
    'quota/quota.ts',
    'server/listener.ts',
    'sessions/session-store.ts',
    'store/store.ts',
    'store/repositories.ts',
    'store/webhook-repositories.ts',
    'telemetry/log.ts',
    'telemetry/traces.ts',
    'redis/',
    'fs/',
    'threads/',
    'toolsets/source.ts',
  ),
  ...on('snapshot', 'snapshot/'),
  // stages and adapters: side by side, and blind to each other
  ...on(
    'part',
    'stages/',
    'kernel/',
    'egress/',
    'fleet/',
    'identity/',
    'meter/',
    'policy/',
    'quota/',
    'server/',
    'sessions/',
    'store/',
    'telemetry/',
  ),
  ...on('door', 'gateway/', 'control/', 'webhooks/', 'toolsets/', 'example/'),
  ...on('top', 'main.ts', 'main/', 'cli/', 'settings.ts', 'settings/'),
]

export interface Exception {
  readonly from: string
  readonly to: string
  readonly reason: string
}

/** Steps sideways that are meant. */
export const SIDEWAYS: readonly Exception[] = [
  { from: 'main.ts', to: 'settings.ts', reason: 'wiring is made from settings' },
  { from: 'main.ts', to: 'main/', reason: 'parts of the wiring that fill a file of their own' },
  { from: 'main/', to: 'settings.ts', reason: 'wiring is made from settings' },
  { from: 'cli/', to: 'main.ts', reason: 'serve starts the deployment' },
  { from: 'cli/', to: 'settings.ts', reason: 'commands read the same settings as the deployment' },
  { from: 'cli/', to: 'settings/', reason: 'a command of its own reads only the settings it needs' },
  { from: 'settings.ts', to: 'settings/', reason: 'the reader of single values is its own file' },
  { from: 'quota/', to: 'kernel/', reason: 'the windows are counted in the memory of the kernel' },
  { from: 'webhooks/', to: 'control/', reason: 'deliveries tell of what the control plane changed' },
]

/** Steps down that are not meant all the same (`stages → store` and the like). */
export const NEVER: readonly Exception[] = [
  {
    from: 'stages/',
    to: 'store/',
    reason: 'the data plane answers from its snapshot while the store is away',
  },
  { from: 'stages/', to: 'server/', reason: 'a stage does not know the transport' },
  {
    from: 'gateway/',
    to: 'store/',
    reason: 'the data plane answers from its snapshot while the store is away',
  },
  { from: 'gateway/', to: 'control/', reason: 'two planes that can be deployed apart' },
  { from: 'control/', to: 'gateway/', reason: 'two planes that can be deployed apart' },
  { from: 'control/', to: 'stages/', reason: 'the control plane writes configuration; it runs no call' },
  { from: 'control/', to: 'kernel/', reason: 'the control plane writes configuration; it runs no call' },
]

/** Only `main.ts` and `main/` import these, and each itself. */
export const ADAPTERS: readonly string[] = [
  'fleet/remote/',
  'identity/dev-provider/',
  'meter/kafka/',
  'meter/spool/',
  'policy/opa-http/',
  'policy/opa-wasm/',
  'quota/journal/',
  'quota/memory/',
  'quota/redis/',
  'server/node/',
  'server/uws/',
  'sessions/memory/',
  'sessions/redis/',
  'sessions/threads/',
  'store/pglite/',
  'store/postgres/',
  'toolsets/directory/',
  'toolsets/kubernetes/',
]

/** Others that import an adapter: files that choose between those of their own room, adapters around another, tools without a deployment. */
export const CHOOSERS: readonly Exception[] = [
  {
    from: 'cli/',
    to: 'policy/opa-wasm/',
    reason: 'a decision can be evaluated without starting a deployment',
  },
  { from: 'cli/', to: 'meter/', reason: 'spool and topic can be read without a deployment' },
  { from: 'server/create.ts', to: 'server/', reason: 'HTTP_SERVER=auto has to try the native build' },
  {
    from: 'quota/journal/',
    to: 'quota/memory/',
    reason: 'the same table in memory, with a journal beside it that outlives the process',
  },
  {
    from: 'quota/redis/',
    to: 'quota/memory/',
    reason: 'leases are spent in the table in memory',
  },
  {
    from: 'quota/redis/',
    to: 'quota/journal/',
    reason: 'unreported use outlives the process in the same journal',
  },
  { from: 'sessions/open.ts', to: 'sessions/', reason: 'REDIS_URL decides where sessions are kept' },
  {
    from: 'toolsets/inspect/',
    to: 'toolsets/directory/references.ts',
    reason: 'a file is inspected with what the directory source would read for it',
  },
  { from: 'store/open.ts', to: 'store/', reason: 'the form of DATABASE_URL names the database' },
]

export interface Vendor {
  readonly package: string
  /** The one room, or several with the reason why one was not enough. */
  readonly rooms: readonly string[]
  readonly reason?: string
}

export const VENDORS: readonly Vendor[] = [
  { package: '@assemblyscript/loader', rooms: ['kernel/'] },
  { package: '@asteasolutions/zod-to-openapi', rooms: ['control/'] },
  { package: '@electric-sql/pglite', rooms: ['store/pglite/'] },
  { package: '@kubernetes/client-node', rooms: ['toolsets/kubernetes/'] },
  { package: '@open-policy-agent/opa-wasm', rooms: ['policy/opa-wasm/'] },
  { package: '@opentelemetry/api', rooms: ['telemetry/'] },
  { package: '@opentelemetry/exporter-trace-otlp-http', rooms: ['telemetry/'] },
  { package: '@opentelemetry/resources', rooms: ['telemetry/'] },
  { package: '@opentelemetry/sdk-trace-base', rooms: ['telemetry/'] },
  { package: 'ajv', rooms: ['toolsets/'] },
  { package: 'ajv-formats', rooms: ['toolsets/'] },
  { package: 'hono', rooms: ['control/'] },
  { package: 'ioredis', rooms: ['redis/'] },
  { package: 'ipaddr.js', rooms: ['egress/'] },
  { package: 'jose', rooms: ['identity/'] },
  { package: 'kafkajs', rooms: ['meter/kafka/'] },
  { package: 'kysely', rooms: ['store/'] },
  { package: 'oidc-provider', rooms: ['identity/dev-provider/'] },
  { package: 'pg', rooms: ['store/postgres/'] },
  { package: 'pino', rooms: ['telemetry/'] },
  { package: 'prom-client', rooms: ['telemetry/'] },
  { package: 'protobufjs', rooms: ['meter/'] },
  { package: 're2js', rooms: ['toolsets/'] },
  { package: 'redoc', rooms: ['control/'] },
  { package: 'swagger-ui-dist', rooms: ['control/'] },
  { package: 'uWebSockets.js', rooms: ['server/uws/'] },
  { package: 'undici', rooms: ['egress/'] },
  {
    package: 'yaml',
    rooms: ['toolsets/', 'quota/plans.ts', 'example/'],
    reason: 'three kinds of files are written by hand: tool-sets, plans, and the document of the example',
  },
  { package: 'zod', rooms: ['control/'] },
]

/** May read `process.env`. */
export const ENVIRONMENT_READERS: readonly string[] = ['settings.ts', 'cli/']
/** May write to the console. */
export const CONSOLE_WRITERS: readonly string[] = ['cli/']

export const MAX_LINES = 350
export const MAX_TEST_LINES = 500
/** Names that tell nothing of what a file holds. */
export const EMPTY_NAMES = /(^|[-./])(utils?|helpers?|managers?|misc|stuff)([-./]|$)/
