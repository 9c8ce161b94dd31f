/** A policy that never changes, for tests of who may ask for a change; `test/e2e/policy-editor.test.ts` has the real one. */
import type { PolicyWorkshop } from '../../../src/policy/workshop/policy-workshop.ts'

const COMPILER = { available: false, version: '1.0.0', hint: 'Install it.' }

export const FIXED_WORKSHOP: PolicyWorkshop = {
  revision: 'first',
  status: async () => ({
    revision: 'first',
    since: '2026-03-01T10:00:00.000Z',
    compiler: COMPILER,
    read_only: null,
    files: [{ path: 'toolgate/toolgate.rego', content: 'package toolgate\n' }],
    input_schema: {},
    candidate: null,
    history: [{ revision: 'first', since: '2026-03-01T10:00:00.000Z' }],
  }),
  check: async () => ({
    compiler: COMPILER,
    errors: [],
    tests: [],
    revision: null,
    cacheable: null,
    comparison: null,
    decision: null,
  }),
  hasDraft: revision => revision === 'draft',
  shadow: async () => undefined,
  obstacle: async () => undefined,
  promote: async () => undefined,
  isKept: async revision => revision === 'first',
  rollBack: async () => undefined,
}
