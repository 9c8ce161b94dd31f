/** What rego authors read about the input (policies/schemas/input.json) is what TypeScript sends. */
import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { INPUT_PATHS } from '../../../src/policy/reads.ts'
import { inputOf } from '../../fixtures/policy/inputs.ts'

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

const schema = JSON.parse(
  readFileSync(new URL('../../../policies/schemas/input.json', import.meta.url), 'utf8'),
) as Schema
const validate = new Ajv({ allErrors: true }).compile(schema)

/** Paths of what has no parts, except that hints and arguments are one path each. */
function leaves(of: Schema, path: string): string[] {
  if (of.properties === undefined || path.endsWith('.annotations')) return [path]
  return Object.entries(of.properties).flatMap(([name, part]) =>
    leaves(part, path === '' ? name : `${path}.${name}`),
  )
}

describe('the schema of the input', () => {
  it('has exactly the paths that rules may read', () => {
    expect(leaves(schema, '').sort()).toEqual([...INPUT_PATHS].sort())
  })

  it('takes an input with and without what may be absent', () => {
    for (const input of [
      inputOf({ context: { arguments: { any: ['thing'] } } }),
      inputOf({ caller: { tenant: null }, context: { plan: null } }),
      inputOf({ action: 'control.apikeys.rotate', type: 'control', resource: { own: true, tenant: 'acme' } }),
    ]) {
      expect(validate(input), JSON.stringify(validate.errors)).toBe(true)
    }
  })

  it('refuses a field it does not know', () => {
    expect(validate({ ...inputOf(), weather: 'rain' })).toBe(false)
    expect(validate({ ...inputOf(), subject: {} })).toBe(false)
  })
})
