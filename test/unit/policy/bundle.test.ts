/** What is read from a bundle besides its module, and what is left out because it is not of the right shape. */
import { describe, expect, it } from 'vitest'
import { pack } from '../../../src/policy/archive.ts'
import { readBundle } from '../../../src/policy/bundle.ts'

const WASM = Buffer.from('0061736d01000000', 'hex')
const ENTRY = { entrypoint: 'toolgate/decision', module: '/policy.wasm' }

function bundleOf(manifest: object, files: Readonly<Record<string, string>> = {}): Buffer {
  const texts = { '.manifest': JSON.stringify({ wasm: [ENTRY], ...manifest }), ...files }
  const entries = Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)] as const)
  return pack(new Map<string, Uint8Array>([...entries, ['policy.wasm', WASM]]))
}

describe('a bundle', () => {
  it('has a revision, empty when the manifest has none', () => {
    expect(readBundle(bundleOf({ revision: '12' })).revision).toBe('12')
    expect(readBundle(bundleOf({ revision: 12 })).revision).toBe('')
  })

  it('has data, empty when it holds no document', () => {
    expect(readBundle(bundleOf({}, { 'data.json': '{"roles":{}}' })).data).toEqual({ roles: {} })
    expect(readBundle(bundleOf({})).data).toEqual({})
  })

  it('holds its module under the usual name when the manifest names none', () => {
    expect([...readBundle(bundleOf({ wasm: [{ entrypoint: ENTRY.entrypoint }] })).wasm]).toEqual([...WASM])
  })

  it('is read by the entrypoint that is asked for, and an unknown one is refused with those there are', () => {
    const wasm = [ENTRY, { ...ENTRY, entrypoint: 'other/decision' }]
    expect(readBundle(bundleOf({ wasm }), 'other/decision').entrypoint).toBe('other/decision')
    expect(() => readBundle(bundleOf({ wasm }), 'third')).toThrow(
      'no entrypoint "third", only toolgate/decision, other/decision',
    )
  })

  it('reads what its entrypoint declares, and everything when it declares nothing', () => {
    const annotations = [{ title: 'no custom part' }, { custom: { reads: ['action.name'] } }]
    expect(readBundle(bundleOf({ wasm: [{ ...ENTRY, annotations }] })).reads.paths).toEqual(['action.name'])
    expect(readBundle(bundleOf({})).reads.paths).toEqual([''])
  })

  it('knows what was found to be read only from a list of paths', () => {
    const found = (reads: unknown) => readBundle(bundleOf({ metadata: { toolgate: { reads } } })).readsFound
    expect(found(['action.name'])?.paths).toEqual(['action.name'])
    expect(found('action.name')).toBeUndefined()
    expect(found(['action.name', 1])).toBeUndefined()
    expect(readBundle(bundleOf({})).readsFound).toBeUndefined()
  })

  it('has the rules that are whole', () => {
    const rule = { code: 'denied', title: 'No', file: 'a.rego', line: 3 }
    const broken = Object.keys(rule).map(field => ({ ...rule, [field]: undefined }))
    const rules = (list: unknown) => readBundle(bundleOf({ metadata: { toolgate: { rules: list } } })).rules
    expect(rules([...broken, null, 'text', rule])).toEqual([rule])
    expect(rules('none')).toEqual([])
    expect(readBundle(bundleOf({ metadata: {} })).rules).toEqual([])
  })
})
