/** Compares `Mcp-Param-…` headers of a tool call with the arguments that they mirror, and refuses a mismatch. The transport reads the headers. */
import { canonicalText, decimalOf } from '../../../base/json/decimal.ts'
import { ExactNumber } from '../../../base/json/exact-number.ts'
import { isObject } from '../../../base/json/is-object.ts'
import type { JsonSchema } from '../../../base/json/json-schema.ts'
import { oncePer } from '../../../base/once-per.ts'
import { refuse } from '../../../model/refusal.ts'
import type { Stage } from '../../pipeline/stage.ts'
import type { Transport } from '../../pipeline/transport.ts'
import type { CompiledTool } from '../../snapshot/snapshot.ts'

/** An argument that is also sent in a header. */
interface Mirrored {
  /** Names from the arguments' root to the value. */
  readonly path: readonly string[]
  readonly header: string
}

/** Annotations deeper than this are not looked for; clients do not either. */
const MAX_DEPTH = 8

export function matchHeaders(): Stage {
  return {
    id: 'match-headers',
    phase: 'decide',
    run({ operation, tool, transport: { mirrored } }) {
      if (operation.action !== 'tools.call' || mirrored === undefined) return undefined
      for (const { path, header } of mirroredBy(tool!)) {
        const fault = compare(mirrored, header, valueAt(operation.arguments, path))
        if (fault !== undefined) return refuse('header_mismatch', { message: fault })
      }
      return undefined
    },
  }
}

const mirroredBy = oncePer(({ tool }: CompiledTool) => [...findAnnotations(tool.inputSchema, [])])

/** Only what `properties` alone lead to can be annotated. */
function* findAnnotations(schema: JsonSchema, path: readonly string[]): Generator<Mirrored> {
  const { properties } = schema
  if (!isObject(properties) || path.length >= MAX_DEPTH) return
  for (const [name, property] of Object.entries(properties)) {
    if (!isObject(property)) continue
    const header = property['x-mcp-header']
    if (typeof header === 'string')
      yield { path: [...path, name], header: `mcp-param-${header.toLowerCase()}` }
    yield* findAnnotations(property, [...path, name])
  }
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value
}

/** null counts as absent: a client does not mirror it. */
function compare(
  read: NonNullable<Transport<unknown>['mirrored']>,
  header: string,
  value: unknown,
): string | undefined {
  const inHeader = read(header)
  if (inHeader === null) return `The header ${header} is not valid base64.`
  if (value === undefined || value === null)
    return inHeader === undefined
      ? undefined
      : `The header ${header} is present, but the argument that it mirrors is missing.`
  // an empty header cannot be distinguished from a missing one
  if (inHeader === undefined) return value === '' ? undefined : `The header ${header} is missing.`
  const numeric = typeof value === 'number' || value instanceof ExactNumber
  const same = numeric ? isSameNumber(inHeader, String(value)) : inHeader === String(value)
  return same ? undefined : `The header ${header} differs from the argument it mirrors.`
}

function isSameNumber(inHeader: string, text: string): boolean {
  return (
    /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(inHeader) &&
    canonicalText(decimalOf(inHeader)) === canonicalText(decimalOf(text))
  )
}
