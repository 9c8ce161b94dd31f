/** The fields that faults of a ToolView name. What a view serves is tested in test/e2e. */
import { expect, it } from 'vitest'
import { readResource } from '../../../src/catalog/resource/resource.ts'

const faultsOf = (name: string, spec: object) => {
  const metadata = { name, namespace: 'tenant-acme' }
  const result = readResource(
    { apiVersion: 'toolgate.dev/v1alpha1', kind: 'ToolView', metadata, spec },
    'toolgate.dev',
  )
  return result.ok ? [] : result.faults
}

it.each(['sse', 'capabilities', 'health', 'tools', 'v1'])(
  'names metadata.name for a view called %s, whose path the gateway uses itself',
  name => {
    expect(faultsOf(name, {})).toEqual([
      {
        field: 'metadata.name',
        reason: `is "${name}", but the gateway uses the path /mcp/${name} for another endpoint`,
        fix: 'rename the view',
      },
    ])
    expect(faultsOf(`${name}-view`, {})).toEqual([])
  },
)

it('names fields of the spec with their path from the top', () => {
  expect(faultsOf('support', { overBudget: 'search', bindings: [{}] }).map(({ field }) => field)).toEqual([
    'spec.bindings[0]',
    'spec.overBudget',
  ])
})
