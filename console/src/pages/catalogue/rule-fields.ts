/** The rules of an API for its calls, as fields of a form made of their schema: how values become text and text becomes values. */
import { TRAFFIC } from '../../api/control-plane.generated.ts'

export interface RuleField {
  /** Within the rule. */
  readonly name: string
  readonly label: string
  readonly kind: 'text' | 'number' | 'words' | 'numbers' | 'check' | 'choice' | 'headers' | 'weights'
  readonly hint: string
  readonly choices?: readonly string[]
  readonly required: boolean
}

export interface Rule {
  /** Path within `traffic`; empty: the fields are its own. */
  readonly path: readonly string[]
  readonly title: string
  /** Absent: the rule cannot be off. */
  readonly off?: string
  readonly fields: readonly RuleField[]
}

/** A part of TRAFFIC. */
interface FormSchema {
  readonly title?: string
  readonly description?: string
  readonly type: string
  readonly nullable?: boolean
  readonly enum?: readonly string[]
  readonly items?: FormSchema
  readonly properties?: { readonly [name: string]: FormSchema }
  readonly required?: readonly string[]
}

const HINTS: { readonly [kind in RuleField['kind']]?: string } = {
  words: 'Separated by commas.',
  numbers: 'Separated by commas.',
  headers: 'One header per line, as "name: value".',
  weights: 'One address and its weight per line, such as "https://a.example.com 3".',
}

export const RULES: readonly Rule[] = rulesOf(TRAFFIC, [])

/** The rule of an object, and those of the objects in it. */
function rulesOf(schema: FormSchema, path: readonly string[]): readonly Rule[] {
  const { title = '', description = '', nullable, properties = {}, required = [] } = schema
  const entries = Object.entries(properties)
  const fields = entries
    .filter(([, { properties: nested }]) => nested === undefined)
    .map(([name, field]) => fieldOf(name, field, required.includes(name)))
  // the description says what applies without the rule
  const off = nullable === true ? /null: (.*?)\./.exec(description)?.[1] : undefined
  return [
    { path, title, fields, ...(off === undefined ? {} : { off }) },
    ...entries.flatMap(([name, field]) =>
      field.properties === undefined ? [] : rulesOf(field, [...path, name]),
    ),
  ]
}

function fieldOf(name: string, schema: FormSchema, required: boolean): RuleField {
  const kind = kindOf(schema)
  const { title = name, description, enum: words } = schema
  return {
    name,
    label: title,
    kind,
    hint: [description, HINTS[kind]].filter(text => text !== undefined).join(' '),
    required,
    ...(words === undefined ? {} : { choices: words }),
  }
}

function kindOf({ type, enum: words, items }: FormSchema): RuleField['kind'] {
  if (type === 'boolean') return 'check'
  if (type === 'integer') return 'number'
  if (type === 'object') return 'headers'
  if (type === 'string') return words === undefined ? 'text' : 'choice'
  if (items?.type === 'object') return 'weights'
  return items?.type === 'integer' ? 'numbers' : 'words'
}

type Values = Readonly<Record<string, unknown>>

/** The rule within `traffic`; undefined: it is off. */
export function valuesOf(traffic: Values | null, { path }: Rule): Values | undefined {
  let at: unknown = traffic ?? {}
  for (const name of path) at = (at as Values | null | undefined)?.[name]
  return (at ?? undefined) as Values | undefined
}

/** A value as the form shows it. */
export function textOf(value: unknown, kind: RuleField['kind']): string {
  if (value === null || value === undefined) return ''
  if (kind === 'headers')
    return Object.entries(value as Record<string, string>)
      .map(([name, text]) => `${name}: ${text}`)
      .join('\n')
  if (kind === 'weights')
    return (value as readonly { url: string; weight: number }[])
      .map(({ url, weight }) => `${url} ${weight}`)
      .join('\n')
  return Array.isArray(value) ? value.join(', ') : String(value)
}

export function fieldName({ path }: Rule, name: string): string {
  return [...path, name].join('.')
}

export function switchName({ path }: Rule): string {
  return `on.${path.join('.')}`
}

/** `traffic` as the form says. An empty field gets its preset from the control plane, which also checks all of them. */
export function trafficOf(form: FormData): Record<string, unknown> {
  const traffic: Record<string, unknown> = {}
  for (const rule of RULES) {
    const parent = rule.path.slice(0, -1).reduce<unknown>((at, name) => (at as Values)[name], traffic)
    // a part of a rule that is off
    if (parent === undefined || parent === null) continue
    const isOn = rule.off === undefined || form.get(switchName(rule)) === 'on'
    const values = isOn ? readRule(rule, form) : null
    const name = rule.path.at(-1)
    if (name === undefined) Object.assign(traffic, values)
    else (parent as Record<string, unknown>)[name] = values
  }
  return traffic
}

function readRule(rule: Rule, form: FormData): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const { name, kind, required } of rule.fields) {
    const text = String(form.get(fieldName(rule, name)) ?? '').trim()
    if (kind === 'check') values[name] = text === 'on'
    else if (text !== '' || required) values[name] = read(text, kind)
  }
  return values
}

function read(text: string, kind: RuleField['kind']): unknown {
  const words = () => text.split(/[\s,]+/).filter(word => word !== '')
  const lines = () => text.split('\n').filter(line => line.trim() !== '')
  switch (kind) {
    case 'number':
      return numberOf(text)
    case 'words':
      return words()
    case 'numbers':
      return words().map(numberOf)
    case 'headers':
      return Object.fromEntries(
        lines().map(line => {
          const [name = '', ...rest] = line.split(':')
          return [name.trim(), rest.join(':').trim()]
        }),
      )
    case 'weights':
      return lines().map(line => {
        const [url = '', weight] = line.trim().split(/\s+/)
        return weight === undefined ? { url } : { url, weight: numberOf(weight) }
      })
    default:
      return text
  }
}

/** What is not a number stays text, which the control plane refuses by the name of the field. */
function numberOf(text: string): number | string {
  const value = Number(text)
  return Number.isNaN(value) ? text : value
}
