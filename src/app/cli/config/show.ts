/** Renders a comparison of configurations as text for review, and detects whether they differ. */
import { styleText } from 'node:util'
import { isObject } from '../../../base/json/is-object.ts'
import { shownText } from '../shown-text.ts'

export interface Changes {
  readonly changes: readonly {
    readonly action: 'create' | 'update' | 'delete'
    readonly path: string
    readonly fields: readonly { readonly field: string; readonly from: unknown; readonly to: unknown }[]
  }[]
  readonly drift: readonly {
    readonly path: string
    readonly field: string | null
    readonly applied: unknown
    readonly live: unknown
  }[]
  readonly foreign: readonly { readonly path: string; readonly owner: string }[]
  readonly unlisted: readonly string[]
  readonly missing_secrets: readonly string[]
}

const MARKS = { create: '+', update: '~', delete: '-' } as const
const COLORS = { create: 'green', update: 'yellow', delete: 'red' } as const
const MAX_VALUE = 200

export function hasDifferences({ changes, drift, foreign }: Changes): boolean {
  return changes.length + drift.length + foreign.length > 0
}

export function showChanges(result: Changes, color: boolean): string {
  const { changes, drift, foreign, unlisted, missing_secrets: missing } = result
  const lines = changes.flatMap(({ action, path, fields }) => {
    const head = `${MARKS[action]} ${shownText(path)}`
    const details = fields.filter(({ from, to }) => action === 'update' || (from ?? to) !== null)
    return [
      color ? styleText(COLORS[action], head) : head,
      ...(action === 'delete' ? [] : details.map(each => `    ${detailOf(action, each)}`)),
    ]
  })
  for (const { path, field, applied, live } of drift)
    lines.push(
      field === null
        ? `! ${shownText(path)} was deleted outside of \`config apply\``
        : `! ${shownText(path)} ${shownText(field)} was changed outside of \`config apply\`: ${text(applied)} → ${text(live)}`,
    )
  for (const { path, owner } of foreign)
    lines.push(
      `! ${shownText(path)} belongs to the owner ${shownText(owner)}; use --take-over to change this resource`,
    )
  for (const path of unlisted)
    lines.push(
      `? ${shownText(path)} is not in the files and stays unchanged; use --prune to delete this resource`,
    )
  for (const name of missing.map(shownText))
    lines.push(
      `! a secret in the files needs the environment variable ${name} or ${name}_FILE; set one of them`,
    )
  const count = (action: string) => changes.filter(change => change.action === action).length
  lines.push(`${count('create')} to create, ${count('update')} to change, ${count('delete')} to delete.`)
  return `${lines.join('\n')}\n`
}

function detailOf(action: string, { field, from, to }: Changes['changes'][number]['fields'][number]): string {
  const name = shownText(field)
  if (action === 'create') return `${name}: ${text(to)}`
  const [before, after] = [text(from), text(to)]
  if (before !== after) return `${name}: ${before} → ${after}`
  const names = namesIn(to).map(shownText).join(' or ')
  return `${name}: the value${names === '' ? '' : ` of ${names}`} has changed`
}

/** The names of secrets to which a value refers: `{from: NAME}`, or an object of such. */
function namesIn(value: unknown): string[] {
  if (!isObject(value)) return []
  return typeof value.from === 'string' ? [value.from] : Object.values(value).flatMap(namesIn)
}

/** One line: values come from other people. */
function text(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null'
  return shownText(json.length > MAX_VALUE ? `${json.slice(0, MAX_VALUE)}…` : json)
}
