/** Checks the form of an update from the control plane and reports the first fault that it finds. */
import { isObject } from '../base/json/is-object.ts'
import { z } from '../model/schema/zod.ts'
import { planShare, tenantShare } from './share-schema.ts'

/** A digest; see `versionOf`. */
const VERSION = /^[0-9a-f]{64}$/
const ITEMS_PER_STEP = 64
const PLANS = z.array(planShare)
const IDS = z.array(z.string())

/** Unknown fields are ignored, because the control plane may be newer. It may be interrupted: an update may hold 50,000 subscriptions. @returns the path of the first faulty field and its fault */
export function* checkingUpdate(update: unknown): Generator<void, string | undefined> {
  if (!isObject(update)) return 'the update is not an object'
  const { version, base, plans, tenants, removed } = update
  if (!isVersion(version)) return 'version is not a SHA-256 digest in hex'
  if (base !== null && !isVersion(base)) return 'base is neither null nor a SHA-256 digest in hex'
  if (base === null && plans === undefined) return 'plans is missing; it is required when base is null'
  return (
    (plans === undefined ? undefined : faultOf(PLANS, plans, 'plans')) ??
    (yield* checkingList(tenants, tenantShare, 'tenants')) ??
    faultOf(IDS, removed, 'removed')
  )
}

/** Lists of objects may be long; other fields are checked at once. */
function* checkingFields(
  value: unknown,
  schema: z.ZodObject,
  path: string,
): Generator<void, string | undefined> {
  if (!isObject(value)) return `${path} is not an object`
  for (const [name, field] of Object.entries(schema.shape)) {
    const list = field instanceof z.ZodOptional ? field.unwrap() : field
    const isAbsent = list !== field && value[name] === undefined
    const isList = list instanceof z.ZodArray && list.element instanceof z.ZodObject
    const fault =
      isList && !isAbsent
        ? yield* checkingList(value[name], list.element as z.ZodObject, `${path}.${name}`)
        : faultOf(field as z.ZodType, value[name], `${path}.${name}`)
    if (fault !== undefined) return fault
  }
  return undefined
}

function* checkingList(value: unknown, item: z.ZodObject, path: string): Generator<void, string | undefined> {
  if (!Array.isArray(value)) return `${path} is not a list`
  for (let at = 0; at < value.length; at++) {
    const place = `${path}[${at}]`
    const fault =
      item === tenantShare ? yield* checkingFields(value[at], item, place) : faultOf(item, value[at], place)
    if (fault !== undefined) return fault
    if ((at + 1) % ITEMS_PER_STEP === 0) yield
  }
  return undefined
}

function isVersion(value: unknown): boolean {
  return typeof value === 'string' && VERSION.test(value)
}

const KINDS: { readonly [expected: string]: string } = {
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

function faultOf(schema: z.ZodType, value: unknown, path: string): string | undefined {
  const issue = schema.safeParse(value).error?.issues[0]
  if (issue === undefined) return undefined
  const place = issue.path.map(name => (typeof name === 'number' ? `[${name}]` : `.${String(name)}`)).join('')
  const fault =
    issue.code === 'invalid_type' ? `is not ${KINDS[issue.expected] ?? `a ${issue.expected}`}` : issue.message
  return `${path}${place} ${fault}`
}
