/** Renders the changes of a configuration as text for review. It prints nothing. */
import { styleText } from 'node:util'

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
    const head = `${MARKS[action]} ${path}`
    const details = fields.filter(({ from, to }) => action === 'update' || (from ?? to) !== null)
    return [
      color ? styleText(COLORS[action], head) : head,
      ...(action === 'delete' ? [] : details.map(each => `    ${detailOf(action, each)}`)),
    ]
  })
  for (const { path, field, applied, live } of drift)
    lines.push(
      field === null
        ? `! ${path} was deleted by other means`
        : `! ${path} ${field} was changed by other means: ${text(applied)} → ${text(live)}`,
    )
  for (const { path, owner } of foreign) lines.push(`! ${path} belongs to ${owner}`)
  for (const path of unlisted) lines.push(`? ${path} is not in the files and stays; --prune deletes it`)
  for (const name of missing) lines.push(`! ${name} is needed and not set`)
  const count = (action: string) => changes.filter(change => change.action === action).length
  lines.push(`${count('create')} to create, ${count('update')} to change, ${count('delete')} to delete.`)
  return `${lines.join('\n')}\n`
}

function detailOf(action: string, { field, from, to }: Changes['changes'][number]['fields'][number]): string {
  if (action === 'create') return `${field}: ${text(to)}`
  const [before, after] = [text(from), text(to)]
  return before === after ? `${field}: another value of ${after}` : `${field}: ${before} → ${after}`
}

/** One line without control characters: values come from other people. */
function text(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null'
  return json.length > MAX_VALUE ? `${json.slice(0, MAX_VALUE)}…` : json
}
