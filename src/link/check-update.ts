/** Checks the form of an update from the control plane and reports the first fault that it finds. */
import { isObject } from '../base/json/is-object.ts'
import type { Plan } from '../model/plan.ts'
import type { Traffic } from '../model/traffic.ts'
import type {
  ApiShare,
  InactiveSubscriptionShare,
  KeyShare,
  McpApiShare,
  SubscriptionShare,
  TenantShare,
} from './control-share.ts'

/** A digest; see `versionOf`. */
const VERSION = /^[0-9a-f]{64}$/
const ITEMS_PER_STEP = 64

/** `?`: may be absent or null. */
type Kind = 'string' | 'number' | 'boolean' | 'object' | 'string?' | 'number?' | 'boolean?'
/** An object, one that may be absent or null, or a list. */
type Nested =
  | { readonly fields: Shape }
  | { readonly optional: Shape }
  | { readonly listOf: Shape | Kind }
  | { readonly optionalListOf: Shape | Kind }
  | { readonly nullOrListOf: Kind }
type Shape = { readonly [field: string]: Kind | Nested }
/** With every field of `T`: one that is added there must be checked here. */
type ShapeOf<T> = { readonly [field in keyof T]-?: FormOf<NonNullable<T[field]>> }
type FormOf<V> = V extends readonly (infer Item)[]
  ?
      | { readonly listOf: ItemOf<Item> }
      | { readonly optionalListOf: ItemOf<Item> }
      | { readonly nullOrListOf: Kind }
  : V extends object
    ? 'object' | { readonly fields: ShapeOf<V> } | { readonly optional: ShapeOf<V> }
    : Kind
type ItemOf<Item> = Item extends object ? ShapeOf<Item> : Kind

const PLAN: ShapeOf<Plan> = {
  slug: 'string',
  name: 'string',
  perSecond: 'number?',
  perMinute: 'number?',
  perDay: 'number?',
  perMonth: 'number?',
  burst: 'number?',
}

const HEADER_RULES = { optional: { set: 'object', remove: { listOf: 'string' } } } as const

/** Of retries and of the circuit breaker. */
const STATUSES = { listOf: 'number' } as const
/** null, but never absent: it allows all of them, or some that are chosen elsewhere. */
const METHODS = { nullOrListOf: 'string' } as const

const TRAFFIC: ShapeOf<Traffic> = {
  methods: METHODS,
  maxRequestBytes: 'number?',
  timeoutMs: 'number?',
  requestHeaders: HEADER_RULES,
  responseHeaders: HEADER_RULES,
  retry: {
    optional: {
      maxAttempts: 'number',
      statuses: STATUSES,
      methods: METHODS,
      firstDelayMs: 'number',
      maxDelayMs: 'number',
      budgetPercent: 'number',
    },
  },
  circuitBreaker: {
    optional: { opensAfter: 'number', openMs: 'number', maxOpenMs: 'number', statuses: STATUSES },
  },
  cors: {
    optional: {
      origins: { listOf: 'string' },
      methods: METHODS,
      allowHeaders: { listOf: 'string' },
      exposeHeaders: { listOf: 'string' },
      credentials: 'boolean',
      maxAgeSecs: 'number',
    },
  },
  cache: {
    optional: { scope: 'string', defaultSecs: 'number?', maxSecs: 'number', maxResponseBytes: 'number' },
  },
  upstreams: {
    optional: {
      addresses: { listOf: { url: 'string', weight: 'number' } },
      healthCheck: {
        optional: {
          path: 'string',
          intervalMs: 'number',
          timeoutMs: 'number',
          unhealthyAfter: 'number',
          healthyAfter: 'number',
        },
      },
    },
  },
  mirror: {
    optional: {
      url: 'string',
      percent: 'number',
      methods: { listOf: 'string' },
      maxBodyBytes: 'number',
      timeoutMs: 'number',
    },
  },
  connections: { optional: { http2: 'boolean?' } },
}

const API: ShapeOf<ApiShare> = {
  id: 'string',
  path: 'string',
  upstreamUrl: 'string',
  authRequired: 'boolean',
  requestsPerHour: 'number?',
  passthrough: {
    optional: {
      requestHeaders: { listOf: 'string' },
      responseHeaders: { listOf: 'string' },
      paths: 'string',
    },
  },
  traffic: { optional: TRAFFIC },
  alias: 'string?',
  version: { optional: { label: 'string', header: 'string', isDefault: 'boolean' } },
  deprecation: {
    optional: { deprecatedAtMs: 'number?', sunsetAtMs: 'number?', isRefused: 'boolean', link: 'string?' },
  },
}

const MCP_API: ShapeOf<McpApiShare> = {
  ...API,
  name: 'string',
  toolPrefix: 'string',
  mcp: {
    fields: {
      transport: 'string',
      session: 'string',
      authentication: {
        fields: {
          type: 'string',
          secret: 'string?',
          header: 'string?',
          tokenUrl: 'string?',
          clientId: 'string?',
          clientAuthentication: 'string',
          scope: 'string?',
          audience: 'string?',
          resource: 'string?',
        },
      },
    },
  },
}

const SUBSCRIPTION: ShapeOf<SubscriptionShare> = {
  id: 'string',
  apiId: 'string',
  apiIds: { optionalListOf: 'string' },
  application: 'string',
  subscriber: 'string?',
  plan: 'string',
  rateLimit: 'number?',
  quota: 'number?',
  expiresAtMs: 'number?',
}

const KEY: ShapeOf<KeyShare> = {
  id: 'string',
  subscriptionId: 'string',
  prefix: 'string',
  hash: 'string',
  expiresAtMs: 'number?',
}

const INACTIVE: ShapeOf<InactiveSubscriptionShare> = {
  id: 'string',
  apiId: 'string',
  apiIds: { optionalListOf: 'string' },
  application: 'string',
  subscriber: 'string?',
  state: 'string',
  keys: { listOf: { id: 'string', prefix: 'string', hash: 'string', expiresAtMs: 'number?' } },
}

const TENANT: ShapeOf<Omit<TenantShare, 'tools'>> & { readonly tools: Nested } = {
  id: 'string',
  name: 'string',
  suspended: 'boolean',
  plans: { listOf: PLAN },
  apis: { listOf: API },
  mcpApis: { optionalListOf: MCP_API },
  subscriptions: { listOf: SUBSCRIPTION },
  keys: { listOf: KEY },
  inactive: { optionalListOf: INACTIVE },
  consumers: { listOf: { subject: 'string', plan: 'string?', blocked: 'boolean' } },
  tools: { listOf: { name: 'string', inputSchema: 'object' } },
}

const UPDATE: Shape = {
  tenants: { listOf: TENANT },
  removed: { listOf: 'string' },
}

/** Unknown fields are ignored, because the control plane may be newer. It may be interrupted: an update may hold 50,000 subscriptions. @returns the path of the first faulty field and its fault */
export function* checkingUpdate(update: unknown): Generator<void, string | undefined> {
  if (!isObject(update)) return 'the update is not an object'
  const { version, base, plans } = update
  if (!isVersion(version)) return 'version is not a SHA-256 digest in hex'
  if (base !== null && !isVersion(base)) return 'base is neither null nor a SHA-256 digest in hex'
  if (base === null && plans === undefined) return 'plans is missing; it is required when base is null'
  return (
    (plans === undefined ? undefined : listFault(plans, PLAN, 'plans')) ??
    (yield* checkingObject(update, UPDATE, ''))
  )
}

/** As `objectFault`, for an object with long lists. */
function* checkingObject(value: unknown, shape: Shape, path: string): Generator<void, string | undefined> {
  if (!isObject(value)) return `${path} is not an object`
  for (const field of Object.keys(shape)) {
    const wanted = shape[field]!
    const at = path === '' ? field : `${path}.${field}`
    const item = itemOf(wanted)
    const isAbsent = value[field] === undefined && typeof wanted !== 'string' && 'optionalListOf' in wanted
    const fault =
      item === undefined || isAbsent
        ? fieldFault(value[field], wanted, at)
        : yield* checkingList(value[field], item, at)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** As `listFault`. */
function* checkingList(value: unknown, item: Shape, path: string): Generator<void, string | undefined> {
  if (!Array.isArray(value)) return `${path} is not a list`
  const hasLists = Object.values(item).some(field => itemOf(field) !== undefined)
  for (let at = 0; at < value.length; at++) {
    const place = `${path}[${at}]`
    const fault = hasLists
      ? yield* checkingObject(value[at], item, place)
      : objectFault(value[at], item, place)
    if (fault !== undefined) return fault
    if ((at + 1) % ITEMS_PER_STEP === 0) yield
  }
  return undefined
}

/** The form of the items, of a list of objects. */
function itemOf(wanted: Kind | Nested): Shape | undefined {
  if (typeof wanted === 'string') return undefined
  const item =
    'listOf' in wanted ? wanted.listOf : 'optionalListOf' in wanted ? wanted.optionalListOf : undefined
  return typeof item === 'object' ? item : undefined
}

function isVersion(value: unknown): boolean {
  return typeof value === 'string' && VERSION.test(value)
}

function objectFault(value: unknown, shape: Shape, path: string): string | undefined {
  if (!isObject(value)) return `${path} is not an object`
  for (const field of Object.keys(shape)) {
    const wanted = shape[field]!
    const at = path === '' ? field : `${path}.${field}`
    const fault = fieldFault(value[field], wanted, at)
    if (fault !== undefined) return fault
  }
  return undefined
}

function fieldFault(value: unknown, wanted: Kind | Nested, path: string): string | undefined {
  if (typeof wanted === 'string') return kindFault(value, wanted, path)
  if ('fields' in wanted) return objectFault(value, wanted.fields, path)
  if ('listOf' in wanted) return listFault(value, wanted.listOf, path)
  if ('optionalListOf' in wanted)
    return value === undefined ? undefined : listFault(value, wanted.optionalListOf, path)
  if ('nullOrListOf' in wanted)
    return value === null ? undefined : listFault(value, wanted.nullOrListOf, path)
  return value === undefined || value === null ? undefined : objectFault(value, wanted.optional, path)
}

function listFault(value: unknown, item: Shape | Kind, path: string): string | undefined {
  if (!Array.isArray(value)) return `${path} is not a list`
  for (let at = 0; at < value.length; at++) {
    const fault =
      typeof item === 'string'
        ? kindFault(value[at], item, `${path}[${at}]`)
        : objectFault(value[at], item, `${path}[${at}]`)
    if (fault !== undefined) return fault
  }
  return undefined
}

function kindFault(value: unknown, kind: Kind, path: string): string | undefined {
  const isOptional = kind.endsWith('?')
  if (isOptional && (value === undefined || value === null)) return undefined
  const type = isOptional ? kind.slice(0, -1) : kind
  const isRight = type === 'object' ? isObject(value) : typeof value === type
  return isRight ? undefined : `${path} is not ${type === 'object' ? 'an' : 'a'} ${type}`
}
