/** Versions, compilation and the swap of snapshots. */
import { describe, expect, it } from 'vitest'
import { SnapshotHolder } from '../../../../src/data-plane/snapshot/holder.ts'
import { canonicalJson, EMPTY_CONTENT, seal } from '../../../../src/link/document.ts'
import { aPolicy, aSnapshot, aTool } from '../../../fixtures/exchange.ts'

describe('seal', () => {
  it('gives the same version to the same content in any order of keys', () => {
    const tool = aTool()
    const turned = Object.fromEntries(Object.entries(tool).reverse()) as unknown as typeof tool
    expect(seal({ ...EMPTY_CONTENT, tools: [tool] }).version).toBe(
      seal({ ...EMPTY_CONTENT, tools: [turned] }).version,
    )
    expect(seal({ ...EMPTY_CONTENT, tools: [aTool({ description: 'Other.' })] }).version).not.toBe(
      seal({ ...EMPTY_CONTENT, tools: [tool] }).version,
    )
  })

  it('writes canonical JSON: sorted keys, no undefined', () => {
    expect(canonicalJson({ b: [1, { d: undefined, c: null }], a: 'x' })).toBe('{"a":"x","b":[1,{"c":null}]}')
  })
})

describe('compile', () => {
  it('refuses two tools of one name that one caller would see, and names both tool-sets', () => {
    expect(() => aSnapshot({ tools: [aTool(), aTool({ tenant: null, toolSet: 'platform-set' })] })).toThrow(
      /"get_order".*"platform-set".*"shop"/,
    )
  })

  it('lets two tenants have tools of the same name', () => {
    const snapshot = aSnapshot({ tools: [aTool(), aTool({ tenant: 'other', description: 'Theirs.' })] })
    expect(snapshot.toolsOf('other').get('get_order')?.tool.description).toBe('Theirs.')
    expect(snapshot.toolsOf('acme').get('get_order')?.tool.description).toBe('Gets an order.')
    expect([...snapshot.toolsOf(undefined).keys()]).toEqual([])
  })

  it('refuses a consumer with a plan that does not exist', () => {
    expect(() => aSnapshot({ consumers: { me: 'platinum' } })).toThrow(/"me" has plan "platinum"/)
  })
})

describe('SnapshotHolder', () => {
  it('keeps the last good snapshot when a document does not compile, and says why', () => {
    const holder = new SnapshotHolder(document => aSnapshot(document))
    expect(holder.current).toBeUndefined()
    const good = seal({ ...EMPTY_CONTENT, tools: [aTool()] })
    expect(holder.publish(good)).toBeUndefined()
    const bad = seal({ ...EMPTY_CONTENT, consumers: { me: 'nothing' } })
    expect(holder.publish(bad)).toMatch(/nothing/)
    expect(holder.current?.version).toBe(good.version)
    expect(holder.lastFault).toMatch(/nothing/)
    holder.publish(seal(EMPTY_CONTENT))
    expect(holder.lastFault).toBeUndefined()
  })

  it('notifies listeners of a swap, but not when the version is the same', () => {
    const holder = new SnapshotHolder(document => aSnapshot(document))
    const swaps: (string | undefined)[] = []
    holder.onSwap((_, previous) => swaps.push(previous?.version))
    const first = seal(EMPTY_CONTENT)
    holder.publish(first)
    holder.publish(first)
    holder.publish(seal({ ...EMPTY_CONTENT, tools: [aTool()] }))
    expect(swaps).toEqual([undefined, first.version])
  })

  it('accepts the version that it serves already', () => {
    const holder = new SnapshotHolder(document => aSnapshot(document))
    const document = seal(EMPTY_CONTENT)
    holder.publish(document)
    expect(holder.publish(document)).toBeUndefined()
  })

  it('adopts a policy for the document it serves, and lists nothing that the other policy has listed', () => {
    const holder = new SnapshotHolder(document => aSnapshot(document))
    const versions: (string | undefined)[] = []
    holder.onSwap((next, previous) => versions.push(next.version, previous?.version))
    const policy = aPolicy()
    holder.adopt(policy)
    expect(holder.current).toBeUndefined()
    const document = seal({ ...EMPTY_CONTENT, tools: [aTool()] })
    holder.publish(document)
    const before = holder.current!
    before.listings.set('x', { tools: [], tail: '' } as never)
    holder.adopt(policy)
    expect(holder.current).toMatchObject({ version: document.version, toolCount: 1, policy })
    expect(holder.current!.listings.size).toBe(0)
    expect(holder.current!.toolsOf('acme')).toBe(before.toolsOf('acme'))
    expect(versions).toEqual([document.version, undefined, document.version, document.version])
  })
})
