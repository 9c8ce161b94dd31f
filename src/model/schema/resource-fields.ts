/** Fields of the resources that authors write as YAML (ToolSet, Tool, ToolView and the objects of gateways), with what their reader and the API server need beside a schema. */
import * as z from 'zod/mini'
import { DURATION, MAX_DURATION_CHARS, parseDurationMs } from '../../base/duration.ts'
import { isUnixUrl, readUnixUrl } from '../upstream-url.ts'

export { z }

interface FieldNotes {
  readonly description?: string
  /** What an author writes in place of a missing or invalid value, such as `write image/png`. */
  readonly fix?: string
  /** Keywords for the custom resource definition, in place of those that follow from the schema. */
  readonly kubernetes?: { readonly [keyword: string]: unknown }
}

export const NOTES = z.registry<FieldNotes>()

/** Adds the notes to a schema; a check that is added later makes a copy without them. */
export function noted<Schema extends z.ZodMiniType>(schema: Schema, notes: FieldNotes): Schema {
  NOTES.add(schema, notes)
  return schema
}

/** Rules between fields for the API server, in CEL; the gateway checks the same in code. */
export function celRules(...rules: readonly (readonly [rule: string, message: string])[]): FieldNotes {
  return {
    kubernetes: { 'x-kubernetes-validations': rules.map(([rule, message]) => ({ rule, message })) },
  }
}

export function text(maxLength: number, notes: FieldNotes = {}) {
  const schema = z.string().check(z.minLength(1), z.maxLength(maxLength))
  return noted(schema, { fix: `write a string of 1 to ${maxLength} characters`, ...notes })
}

/** @param form an expression of RE2, which the API server has */
export function formed(form: RegExp, maxLength: number, notes: FieldNotes & { readonly fix: string }) {
  return noted(z.string().check(z.maxLength(maxLength), z.regex(form)), notes)
}

export function texts(maxItems = 200) {
  return noted(z.array(text(256)).check(z.maxLength(maxItems)), { fix: 'write a list such as [a, b]' })
}

export function integer(min: number, max: number, notes: FieldNotes = {}) {
  const schema = z.int().check(z.minimum(min), z.maximum(max))
  return noted(schema, { fix: `write an integer from ${min} to ${max}`, ...notes })
}

export function flag(notes: FieldNotes = {}) {
  return noted(z.boolean(), { fix: 'write true or false', ...notes })
}

export function choice<const W extends readonly [string, ...string[]]>(words: W, notes: FieldNotes = {}) {
  return noted(z.enum(words), { fix: `write one of ${words.join(', ')}`, ...notes })
}

export function duration(minMs: number, maxMs: number) {
  const schema = z.string().check(
    z.maxLength(MAX_DURATION_CHARS),
    z.regex(DURATION),
    z.refine(
      value => {
        const durationMs = parseDurationMs(value)
        return durationMs !== undefined && durationMs >= minMs && durationMs <= maxMs
      },
      { params: { reason: 'is not within the bounds' } },
    ),
  )
  return noted(schema, {
    description: `Duration from ${minMs} ms to ${maxMs} ms, such as 30s or 1h.`,
    fix: `write a duration from ${minMs} ms to ${maxMs} ms, such as 30s or 1h`,
  })
}

const MAX_URL_CHARS = 2048
const NO_HTTP = 'is not an absolute http(s) address'
/** User name and password are refused, an `@` in a path is not. */
const KUBERNETES_HTTP = '^https?://[^@\\s/?#]+([/?#]\\S*)?$'

/** An absolute http(s) address without user name and password. */
export function webUrl(notes: FieldNotes = {}) {
  const schema = z
    .string()
    .check(z.maxLength(MAX_URL_CHARS), z.refine(isWebUrl, { params: { reason: NO_HTTP } }))
  return noted(schema, {
    fix: 'write https://host[:port][/path], without user or password',
    kubernetes: { pattern: KUBERNETES_HTTP },
    ...notes,
  })
}

export function isWebUrl(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, username, password } = new URL(value)
  return /^https?:$/.test(protocol) && username === '' && password === ''
}

/** As `webUrl`, or HTTP over a Unix socket. */
export function backendUrl(notes: FieldNotes = {}) {
  const schema = z.string().check(
    z.maxLength(MAX_URL_CHARS),
    z.superRefine<string>((value, { addIssue }) => {
      const read = isUnixUrl(value) ? readUnixUrl(value) : undefined
      if (typeof read === 'string')
        addIssue({
          code: 'custom',
          params: { reason: `is not usable: ${read}`, fix: 'write http+unix://%2Frun%2Fshop.sock[/path]' },
        })
      else if (read === undefined && !isWebUrl(value))
        addIssue({ code: 'custom', params: { reason: NO_HTTP } })
    }),
  )
  return noted(schema, {
    fix: 'write https://host[:port][/path], without user or password',
    kubernetes: { pattern: KUBERNETES_HTTP.replace('https?', '(https?|http\\+unix)') },
    ...notes,
  })
}

/** One key of a ConfigMap or Secret; in the directory source, a file. */
export function keyReference() {
  const part = () =>
    noted(
      z.string().check(
        z.maxLength(253),
        z.regex(/^[A-Za-z0-9._-]+$/),
        z.refine(value => value !== '.' && value !== '..', { params: { reason: 'is a dot segment' } }),
      ),
      { fix: 'use letters, digits, ".", "_" and "-"' },
    )
  return z.strictObject({ name: part(), key: part() })
}

/** The name of a tool. */
export function toolName(notes: FieldNotes = {}) {
  return formed(/^[A-Za-z0-9_.-]+$/, 64, {
    fix: 'use letters, digits, "_", "." and "-", at most 64 characters',
    ...notes,
  })
}

/** A JSON value that its reader checks. */
export function anyObject(notes: FieldNotes = {}) {
  return noted(z.record(z.string(), z.unknown()), { fix: 'write an object', ...notes })
}
