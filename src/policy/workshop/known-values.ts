/** The texts that `policies/schemas/input.json` of this installation lists for paths of the input. */
import { readFileSync } from 'node:fs'

interface Schema {
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
}

const SCHEMA = new URL('../../../policies/schemas/input.json', import.meta.url)

let known: ReadonlyMap<string, readonly string[]> | undefined

/** Path → its texts; a path that can have any text is absent. */
export function knownValues(): ReadonlyMap<string, readonly string[]> {
  known ??= new Map(listValues(JSON.parse(readFileSync(SCHEMA, 'utf8')) as Schema, []))
  return known
}

function listValues(
  { enum: values, properties = {} }: Schema,
  path: readonly string[],
): (readonly [path: string, values: readonly string[]])[] {
  const texts = values?.filter(value => typeof value === 'string')
  const below = Object.entries(properties).flatMap(([name, part]) => listValues(part, [...path, name]))
  return texts === undefined ? below : [[path.join('.'), texts], ...below]
}
