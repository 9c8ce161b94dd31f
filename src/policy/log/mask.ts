/** Masks arguments and texts of callers, and finds the names that a schema marks as sensitive. */

import { BoundedMap } from '../../base/async/bounded-map.ts'
import { ExactNumber } from '../../base/json/exact-number.ts'
import { referenceTarget } from '../../base/json-schema/reference.ts'
import { getOrSet, oncePer } from '../../base/once-per.ts'

export type NameSet = Pick<ReadonlySet<string>, 'has'>

/** `allowed`: only arguments with a listed name are kept, and these are masked by value and schema, too. */
export interface Masking {
  /** undefined: every name that does not suggest a secret. */
  readonly allowed: ReadonlySet<string> | undefined
  /** Names that the schema of the tool marks as sensitive. */
  readonly sensitive: NameSet
}

export interface Masked {
  readonly value: unknown
  /** Whether anything was replaced. */
  readonly masked: boolean
}

const SENSITIVE_NAME =
  /pass(word|phrase|wd)?$|p(?:ass)?wd|secret|token|(?:api|access|private|signing)[-_ ]?key|authori[sz]ation|credential|cookie|session|card|cvv|cvc|iban|ssn|pin$|^t?otp|otp$|[-_ ]otp|one.?time.?(?:code|pass)|jwt|passwor[td]/i
/** Such names in the languages of many APIs. */
const SENSITIVE_WORD =
  /kennwort|geheim|contrase[nñ]a|(?<![a-z])clave|senha|segredo|mot.?de.?passe|wachtwoord|l[oö]senord|salasana|has[lł]o|heslo|parola|jelsz[oó]|şifre|пароль|密码|密碼|口令|パスワード|暗証|비밀번호|รหัสผ่าน|كلمة.?(?:السر|المرور)|סיסמ/iu
const MASK = '[masked]'
const MAX_TEXT = 256
const MAX_DEPTH = 8
const MAX_FIELDS = 200

/** Prefixes of credentials in wide use, and JWTs. */
const CREDENTIAL =
  /\beyJ[\w-]{8,}\.|\b(?:sk|pk|rk|whsec)_(?:live|test)?_?\w{8,}|\btgk_\w{8}|\bwhsec_|\bgh[pousr]_\w{20,}|\bgithub_pat_|\bglpat-|\bxox[abeoprs]-|\bA(?:KIA|SIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bsk-[\w-]{16,}|-----BEGIN [A-Z ]*PRIVATE KEY|:\/\/[^\s/@:]*:[^\s/@]+@|\b(?:bearer|basic)\s+[\w+/=.~-]{8,}/i
const EMAIL = /[\w.+%-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}/i
/** ISO/IEC 7812: 13 to 19 digits, written in groups or not. */
const CARD = /\d(?:[ -]?\d){12,18}/g
const RUN = /[\w+/=-]{20,}/g
/** Whether there is one at all: nearly every text has none, and a test takes a quarter of the time of an iteration. */
const HAS_CARD = /\d(?:[ -]?\d){12}/
const HAS_RUN = /[\w+/=-]{20}/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** Bits per character of a run that is more likely generated than written: words and identifiers stay below. */
const MIN_ENTROPY = 3.7
const HEX_SECRET = /^[0-9a-f]{32,}$/i

export function maskArguments(value: unknown, masking: Masking): Masked {
  const state = { ...masking, masked: false, fields: 0 }
  return { value: mask(value, state, 0), masked: state.masked }
}

/** A text of a caller that is shown: masked if it looks like a secret. */
export function maskText(text: string): string {
  return isSecret(text) ? MASK : text
}

interface State extends Masking {
  masked: boolean
  fields: number
}

/** Bounded in depth and number, because arguments are the caller's. @returns the value itself where nothing in it is masked */
function mask(value: unknown, state: State, depth: number): unknown {
  if (typeof value === 'string') return isSecret(value) ? hide(state) : value
  if (typeof value === 'number') return isShortNumber(value) || !isCard(String(value)) ? value : hide(state)
  if (value instanceof ExactNumber) return isCard(value.text) ? hide(state) : value
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return hide(state)
  if (Array.isArray(value)) {
    if (state.fields + value.length > MAX_FIELDS) return hide(state)
    state.fields += value.length
    const items = value.map(item => mask(item, state, depth + 1))
    return items.some((item, at) => item !== value[at]) ? items : value
  }
  // of 20,000 members, the names take 3 ms and the entries 10
  const names = Object.keys(value)
  if (state.fields + names.length > MAX_FIELDS) return hide(state)
  state.fields += names.length
  return maskMembers(value as { readonly [name: string]: unknown }, names, state, depth)
}

function maskMembers(
  members: { readonly [name: string]: unknown },
  names: readonly string[],
  state: State,
  depth: number,
): object {
  const shownNames: string[] = []
  const shown: unknown[] = []
  let isMasked = false
  for (const name of names) {
    const { isSecret: isHidden, isSensitive } = verdictOf(name)
    const value = members[name]
    const hides = state.sensitive.has(name) || state.allowed?.has(name) === false
    const isWithheld = hides || (state.allowed === undefined && isSensitive)
    const item = isWithheld ? hide(state) : mask(value, state, depth + 1)
    shownNames.push(isHidden ? hide(state) : name)
    shown.push(item)
    isMasked ||= isHidden || item !== value
  }
  return isMasked ? Object.fromEntries(shownNames.map((name, at) => [name, shown[at]])) : members
}

interface NameVerdict {
  /** The name itself looks like a secret. */
  readonly isSecret: boolean
  /** The name suggests that its value is a secret. */
  readonly isSensitive: boolean
}

/** Names repeat, and are few; bounded, because some are the caller's. */
const verdicts = new BoundedMap<string, NameVerdict>(1_000)

function verdictOf(name: string): NameVerdict {
  const known = verdicts.get(name)
  if (known !== undefined) return known
  const verdict = {
    isSecret: isSecret(name),
    isSensitive: SENSITIVE_NAME.test(name) || SENSITIVE_WORD.test(name),
  }
  if (name.length > MAX_TEXT) return verdict
  verdicts.set(name, verdict)
  return verdict
}

/** Shorter texts hold no secret of any kind: the shortest are `xoxb-` and `a@b.c`. */
const MIN_SECRET = 5

function isSecret(text: string): boolean {
  const { length } = text
  if (length < MIN_SECRET) return false
  return (
    length > MAX_TEXT ||
    CREDENTIAL.test(text) ||
    (text.includes('@') && EMAIL.test(text)) ||
    isCard(text) ||
    isGenerated(text)
  )
}

/** Fewer than 13 digits, written without an exponent. */
function isShortNumber(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 1e12
}

/** A run of digits with a valid check digit (Luhn, ISO/IEC 7812-1 annex B). */
function isCard(text: string): boolean {
  if (!HAS_CARD.test(text)) return false
  for (const [run] of text.matchAll(CARD)) {
    const digits = run.replace(/\D/g, '')
    let sum = 0
    for (let at = 0; at < digits.length; at++) {
      const digit = Number(digits[digits.length - 1 - at])
      sum += at % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2
    }
    if (sum % 10 === 0 && /[1-9]/.test(digits)) return true
  }
  return false
}

function isGenerated(text: string): boolean {
  if (!HAS_RUN.test(text)) return false
  for (const [run] of text.matchAll(RUN)) {
    if (UUID.test(run)) continue
    if (HEX_SECRET.test(run)) return true
    if (/\d/.test(run) && /[a-z]/i.test(run) && entropyOf(run) >= MIN_ENTROPY) return true
  }
  return false
}

/** Shannon entropy in bits per character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}

function hide(state: State): string {
  state.masked = true
  return MASK
}

const NONE: NameSet = new Set()
const MAX_SCHEMA_NODES = 20_000

/**
 * Names of properties that a schema marks with `format: password`, `writeOnly` or `x-sensitive`, at any depth and also by reference; kept per
 * schema. A property whose schema cannot be found, or was not reached within the bound, counts as marked. Marks outside of `properties`, as of
 * `additionalProperties` of the arguments, apply to all names that no `properties` has.
 */
export function sensitiveNames(schema: object | undefined): NameSet {
  return schema === undefined ? NONE : namesOf(schema)
}

/** Name of the schemas that belong to no property. */
const OTHERS = ''
/** Name of definitions until a reference leads to them. */
const UNUSED = '\0'

const namesOf = oncePer((schema: object): NameSet => {
  const names = new Set<string>()
  const declared = new Set<string>()
  const pending: (readonly [node: object, name: string])[] = [[schema, OTHERS]]
  /** Names under which a node was visited: references may lead in a circle, and to one node from many properties. */
  const visitedAs = new Map<object, Set<string>>()
  const add = (node: unknown, name: string): void => {
    if (typeof node === 'object' && node !== null) pending.push([node, name])
  }
  for (let visited = 0; pending.length > 0 && visited < MAX_SCHEMA_NODES; visited++) {
    const [node, name] = pending.pop()!
    const known = getOrSet(visitedAs, node, () => new Set<string>())
    if (known.has(name)) continue
    known.add(name)
    if (isMarked(node)) names.add(name)
    for (const [key, child] of Object.entries(node)) {
      if (REFERENCES.has(key) && typeof child === 'string') {
        const target = referenceTarget(schema, child)
        if (target === undefined) names.add(name)
        add(target, name)
      } else if (key === 'properties')
        for (const [property, its] of Object.entries(Object(child))) {
          declared.add(property)
          add(its, property)
        }
      else add(child, key === '$defs' || key === 'definitions' ? UNUSED : name)
    }
  }
  for (const [, name] of pending) names.add(name)
  if (!names.has(OTHERS)) return names
  return { has: name => names.has(name) || !declared.has(name) }
})

const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef'])

function isMarked(node: object): boolean {
  const marks = node as { format?: unknown; writeOnly?: unknown; 'x-sensitive'?: unknown }
  return marks.format === 'password' || marks.writeOnly === true || marks['x-sensitive'] === true
}
