/** The tables that `rules.ts` applies: imports of `src`, places of vendors, of the environment and of console output, bounds of files. */

/** Imports point down only: a file may import its own folder and everything below it. Folders of one layer do not import each other. */
export const LAYERS: readonly (readonly string[])[] = [
  ['app/'],
  ['data-plane/', 'control-plane/', 'console/'],
  ['catalog/', 'bridge/', 'example/', 'identity/'],
  ['mcp/', 'telemetry/', 'policy/'],
  ['link/', 'net/'],
  ['model/'],
  ['base/'],
]

export interface Exception {
  readonly from: string
  readonly to: string
  readonly reason: string
}

/** Imports that the layers allow and that are wrong nevertheless. */
export const FORBIDDEN: readonly Exception[] = [
  {
    from: 'data-plane/pipeline/',
    to: 'data-plane/http/',
    reason: 'the pipeline is the same for every transport',
  },
  {
    from: 'data-plane/pipeline/',
    to: 'data-plane/stages/',
    reason: 'the pipeline runs the stages it is given',
  },
  { from: 'data-plane/stages/', to: 'data-plane/http/', reason: 'a stage does not know the transport' },
  {
    from: 'data-plane/stages/',
    to: 'data-plane/kernel/',
    reason: 'a stage uses adapters through interfaces',
  },
  { from: 'data-plane/stages/', to: 'net/server/', reason: 'a stage does not know the transport' },
  { from: 'data-plane/snapshot/', to: 'data-plane/stages/', reason: 'a snapshot is data that stages read' },
]

/** A stage imports its own phase and what the stages share, never another phase. */
export const STAGES = 'data-plane/stages/'
export const SHARED_BY_STAGES = 'data-plane/stages/shared/'
export const STAGE_LIST = 'data-plane/stages/index.ts'

/** Only `app/` imports these, and each itself. */
export const ADAPTERS: readonly string[] = [
  'catalog/directory/',
  'catalog/kubernetes/',
  'control-plane/store/pglite/',
  'control-plane/store/postgres/',
  'data-plane/follower/',
  'data-plane/metering/kafka/',
  'data-plane/metering/spool/',
  'data-plane/quota/journal/',
  'data-plane/quota/memory/',
  'data-plane/quota/redis/',
  'data-plane/sessions/memory/',
  'data-plane/sessions/redis/',
  'data-plane/sessions/threads/',
  'identity/dev-provider/',
  'policy/opa-http/',
  'policy/opa-wasm/',
  'net/server/node/',
  'net/server/uws/',
]

/** Others that import an adapter: files that choose between those beside them, and adapters around another. */
export const CHOOSERS: readonly Exception[] = [
  {
    from: 'catalog/inspect/',
    to: 'catalog/directory/',
    reason: 'lint reads a file with the code that serves it, so that both accept the same',
  },
  {
    from: 'net/server/create.ts',
    to: 'net/server/',
    reason: 'HTTP_SERVER=auto has to try the native build',
  },
  {
    from: 'data-plane/quota/journal/',
    to: 'data-plane/quota/memory/',
    reason: 'the same table in memory, with a journal that survives the process',
  },
  {
    from: 'data-plane/quota/redis/',
    to: 'data-plane/quota/memory/',
    reason: 'leases are spent in the table in memory',
  },
  {
    from: 'data-plane/quota/redis/',
    to: 'data-plane/quota/journal/',
    reason: 'unreported use survives the process in the same journal',
  },
  {
    from: 'data-plane/sessions/open-sessions.ts',
    to: 'data-plane/sessions/',
    reason: 'REDIS_URL decides where sessions are kept',
  },
  {
    from: 'control-plane/store/open-store.ts',
    to: 'control-plane/store/',
    reason: 'the scheme of DATABASE_URL names the database',
  },
]

export interface Vendor {
  readonly package: string
  /** The one folder, or several with the reason why one was not enough. */
  readonly folders: readonly string[]
  readonly reason?: string
}

export const VENDORS: readonly Vendor[] = [
  { package: '@assemblyscript/loader', folders: ['data-plane/kernel/'] },
  {
    package: '@asteasolutions/zod-to-openapi',
    folders: ['control-plane/api/', 'model/schema/'],
    reason: 'metadata of fields is declared with them, and the served document is made of it',
  },
  { package: '@electric-sql/pglite', folders: ['control-plane/store/pglite/'] },
  { package: '@kubernetes/client-node', folders: ['catalog/kubernetes/'] },
  { package: '@open-policy-agent/opa-wasm', folders: ['policy/opa-wasm/'] },
  { package: '@opentelemetry/api', folders: ['telemetry/'] },
  { package: '@opentelemetry/exporter-trace-otlp-http', folders: ['telemetry/'] },
  { package: '@opentelemetry/resources', folders: ['telemetry/'] },
  { package: '@opentelemetry/sdk-trace-base', folders: ['telemetry/'] },
  { package: 'ajv', folders: ['base/json-schema/'] },
  { package: 'ajv-formats', folders: ['base/json-schema/'] },
  { package: 'commander', folders: ['app/cli/'] },
  { package: 'hono', folders: ['control-plane/api/'] },
  { package: 'ioredis', folders: ['net/redis/'] },
  { package: 'ipaddr.js', folders: ['net/egress/'] },
  { package: 'jose', folders: ['identity/'] },
  { package: 'jsonpath-rfc9535', folders: ['catalog/'] },
  { package: 'kafkajs', folders: ['data-plane/metering/kafka/'] },
  { package: 'kysely', folders: ['control-plane/store/'] },
  { package: 'minisearch', folders: ['data-plane/listing/search/'] },
  { package: 'nodemailer', folders: ['control-plane/mail/'] },
  { package: 'oauth4webapi', folders: ['console/'] },
  { package: 'oidc-provider', folders: ['identity/dev-provider/'] },
  { package: 'pg', folders: ['control-plane/store/postgres/'] },
  { package: 'pino', folders: ['telemetry/'] },
  { package: 'prom-client', folders: ['telemetry/'] },
  { package: 'protobufjs', folders: ['data-plane/metering/'] },
  { package: 're2js', folders: ['base/json-schema/'] },
  { package: 'redoc', folders: ['control-plane/api/'] },
  { package: 'swagger-ui-dist', folders: ['control-plane/api/'] },
  { package: 'uWebSockets.js', folders: ['net/server/uws/'] },
  { package: 'undici', folders: ['net/egress/'] },
  {
    package: 'yaml',
    folders: ['app/cli/config/', 'catalog/', 'data-plane/quota/plans.ts', 'example/'],
    reason:
      'files that are written by hand: configuration, tool sets, plans, and the document of the example',
  },
  { package: 'zod', folders: ['model/schema/'] },
]

/** May read `process.env`. */
export const ENVIRONMENT_READERS: readonly string[] = [
  'app/',
  // sets the one variable by which the native parser takes its bound
  'net/server/uws/native.ts',
]
/** May write to the console. */
export const CONSOLE_WRITERS: readonly string[] = ['app/cli/']

export const MAX_LINES = 350
export const MAX_TEST_LINES = 500
/** Names that do not say what a file holds. */
export const EMPTY_NAMES = /(^|[-./])(utils?|helpers?|managers?|misc|stuff)([-./]|$)/

/**
 * Lines of each folder. A folder may shrink by itself; a higher number is an edit of this table, with its reason in the message of the commit.
 */
export const FOLDER_LINES: { readonly [folder: string]: number } = {
  assembly: 2599,
  bench: 12396,
  'console/src': 10081,
  'src/app': 12329,
  'src/base': 4651,
  'src/bridge': 615,
  'src/catalog': 11820,
  'src/console': 2009,
  'src/control-plane': 17413,
  'src/data-plane': 32730,
  'src/example': 1447,
  'src/identity': 1973,
  'src/link': 1097,
  'src/mcp': 3169,
  'src/model': 5196,
  'src/net': 9359,
  'src/policy': 5567,
  'src/telemetry': 1368,
}
