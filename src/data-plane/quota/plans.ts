/** Reads and validates the plans file: plans, the plans of named consumers, and rules that choose a plan. */
import { readFileSync } from 'node:fs'
import { LineCounter, parseDocument } from 'yaml'
import { isMissing } from '../../base/fs/missing.ts'
import { type Plan, type PlanLimits, type PlanRule, SEEDED_PLANS } from '../../model/plan.ts'

/** The content of the file; seeded plans that it does not define are added. */
export interface PlanFile {
  readonly plans: readonly Plan[]
  /** Consumer → slug of its plan; every slug is among the plans. */
  readonly consumers: { readonly [consumer: string]: string }
  /** For consumers that are not named; absent where the file has none. */
  readonly planRules?: readonly PlanRule[]
}

/** Default path of the file; only there may it be missing. */
const DEFAULT_PLANS_FILE = './plans.yaml'

const LIMITS = ['perSecond', 'perMinute', 'perDay', 'perMonth', 'burst'] as const
const MAX_LIMIT = 2 ** 31 - 1
const SLUG = /^[a-z0-9-]{1,100}$/
const MAX_BYTES = 4 << 20
const MAX_RULES = 1_000
const MAX_ALIASES = 100
const CONDITIONS = ['tenant', 'role', 'user'] as const

/**
 * Reads the file. When the default file is missing, there are the seeded plans, without consumers.
 * @throws Error naming every fault: file, field, reason, fix
 */
export function readPlans(path: string): PlanFile {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (isMissing(error) && path === DEFAULT_PLANS_FILE) return { plans: SEEDED_PLANS, consumers: {} }
    throw new Error(
      `${path}: the plans file cannot be read (${(error as Error).message}). Set PLANS to a readable file`,
    )
  }
  return parsePlans(text, path)
}

/**
 * @param source named in errors
 * @throws Error naming every fault: field, reason, fix
 */
export function parsePlans(text: string, source = 'plans'): PlanFile {
  if (text.length > MAX_BYTES)
    throw new Error(`${source}: the file has ${text.length} characters; the maximum is ${MAX_BYTES}`)
  const faults: string[] = []
  const root = readMapping(readYaml(text, source) ?? new Map(), 'the file', faults)
  unknown(root, ['plans', 'consumers', 'rules'], '', faults)
  const plans = new Map(SEEDED_PLANS.map(seeded => [seeded.slug, seeded]))
  for (const [slug, value] of readMapping(root.get('plans') ?? new Map(), 'plans', faults)) {
    if (SLUG.test(slug)) plans.set(slug, readPlan(slug, value, faults))
    else
      faults.push(`plans.${slug}: "${slug}" is not a plan name; use 1 to 100 characters of a-z, 0-9 and "-"`)
  }
  const consumers: [string, string][] = []
  for (const [consumer, slug] of readMapping(root.get('consumers') ?? new Map(), 'consumers', faults)) {
    if (typeof slug === 'string' && plans.has(slug)) consumers.push([consumer, slug])
    else
      faults.push(
        `consumers.${consumer}: ${show(slug)} is not a plan; use one of ${[...plans.keys()].join(', ')}`,
      )
  }
  const planRules = readRules(root.get('rules') ?? [], plans, faults)
  if (faults.length > 0) fail(source, faults, 'cannot be used')
  return Object.freeze({
    plans: [...plans.values()],
    consumers: Object.fromEntries(consumers),
    ...(planRules.length === 0 ? undefined : { planRules }),
  })
}

/** @throws Error naming every fault of the syntax with its place, or why the text has no value */
function readYaml(text: string, source: string): unknown {
  const lines = new LineCounter()
  let faults: string[]
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
    faults = document.errors.map(error => {
      const { line, col } = lines.linePos(error.pos[0])
      return `line ${line}, column ${col}: ${error.message}`
    })
    if (faults.length === 0) return document.toJS({ mapAsMap: true, maxAliasCount: MAX_ALIASES })
  } catch (error) {
    const fix =
      error instanceof RangeError ? 'use fewer nesting levels' : 'write the values in place of the aliases'
    faults = [`${(error as Error).message}; ${fix}`]
  }
  return fail(source, faults, 'is not valid YAML')
}

function readPlan(slug: string, value: unknown, faults: string[]): Plan {
  const fields = readMapping(value ?? new Map(), `plans.${slug}`, faults)
  unknown(fields, ['name', ...LIMITS], `plans.${slug}.`, faults)
  const limits: { -readonly [kind in keyof PlanLimits]: number } = {}
  for (const kind of LIMITS) {
    const limit = fields.get(kind)
    if (limit === undefined || limit === null) continue
    if (typeof limit === 'number' && Number.isInteger(limit) && limit >= 0 && limit <= MAX_LIMIT)
      limits[kind] = limit
    else
      faults.push(
        `plans.${slug}.${kind}: ${show(limit)} is not a limit; write a whole number from 0 to ${MAX_LIMIT}, or remove the field for no limit`,
      )
  }
  const name = fields.get('name') ?? slug
  if (typeof name === 'string' && name.length > 0 && name.length <= 100) return plan(slug, name, limits)
  faults.push(`plans.${slug}.name: ${show(name)} is not a name; write a string of 1 to 100 characters`)
  return plan(slug, slug, limits)
}

function readRules(value: unknown, plans: ReadonlyMap<string, Plan>, faults: string[]): readonly PlanRule[] {
  if (!Array.isArray(value) || value.length > MAX_RULES) {
    faults.push(`rules: write a list of at most ${MAX_RULES} rules`)
    return []
  }
  return value.map((entry, at) => {
    const where = `rules[${at}]`
    const fields = readMapping(entry, where, faults)
    unknown(fields, ['plan', ...CONDITIONS, 'per'], `${where}.`, faults)
    const slug = fields.get('plan')
    if (typeof slug !== 'string' || !plans.has(slug))
      faults.push(`${where}.plan: ${show(slug)} is not a plan; use one of ${[...plans.keys()].join(', ')}`)
    const conditions: [string, string][] = []
    for (const name of CONDITIONS) {
      const wanted = fields.get(name)
      if (wanted === undefined) continue
      if (typeof wanted === 'string' && wanted !== '') conditions.push([name, wanted])
      else faults.push(`${where}.${name}: ${show(wanted)} is not a name; write a non-empty string`)
    }
    const per = fields.get('per')
    if (per !== undefined && per !== 'user')
      faults.push(`${where}.per: ${show(per)} is not a valid value; write "user", or remove the field`)
    const rule = { plan: String(slug), ...Object.fromEntries(conditions) }
    return Object.freeze(per === 'user' ? { ...rule, per } : rule)
  })
}

function plan(slug: string, name: string, limits: PlanLimits): Plan {
  return Object.freeze({ slug, name, ...limits })
}

/** Entries with text keys: YAML may have parsed a key as a number or boolean. */
function readMapping(value: unknown, where: string, faults: string[]): ReadonlyMap<string, unknown> {
  if (!(value instanceof Map)) {
    faults.push(`${where}: ${show(value)} is not a mapping; write one "name: value" per line`)
    return new Map()
  }
  return new Map([...value].map(([key, entry]) => [String(key), entry]))
}

function unknown(
  fields: ReadonlyMap<string, unknown>,
  known: readonly string[],
  prefix: string,
  faults: string[],
): void {
  for (const name of fields.keys())
    if (!known.includes(name))
      faults.push(`${prefix}${name}: this field does not exist; the fields are ${known.join(', ')}`)
}

function show(value: unknown): string {
  return value instanceof Map ? 'a mapping' : (JSON.stringify(value)?.slice(0, 60) ?? 'nothing')
}

function fail(source: string, faults: readonly string[], what: string): never {
  throw new Error([`${source} ${what}:`, ...faults.map(fault => `  ${fault}`)].join('\n'))
}
