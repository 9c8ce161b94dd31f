/** Versions of documents, compilation, and the swap of snapshots and policies; 20,000 tools in slices. */
import { describe, expect, it } from 'vitest'
import { runInSlices } from '../../../../src/base/async/slices.ts'
import { SnapshotCompiler } from '../../../../src/data-plane/snapshot/compile.ts'
import { SnapshotHolder } from '../../../../src/data-plane/snapshot/holder.ts'
import type { Snapshot } from '../../../../src/data-plane/snapshot/snapshot.ts'
import {
  canonicalJson,
  EMPTY_CONTENT,
  type SnapshotDocument,
  seal,
  sealInSlices,
} from '../../../../src/link/document.ts'
import { aPolicy, aSnapshot, aTool } from '../../../fixtures/exchange.ts'
import { preparedTool } from '../../../fixtures/prepared-tool.ts'

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
  it('refuses two tools of one name that one caller would see, and names both tool sets', () => {
    expect(() => aSnapshot({ tools: [aTool(), aTool({ tenant: null, toolSet: 'platform-set' })] })).toThrow(
      /"platform-set" and "shop" both have a tool "get_order"/,
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

async function compileDocument(document: SnapshotDocument): Promise<() => Snapshot> {
  const snapshot = aSnapshot(document)
  return () => snapshot
}

describe('SnapshotHolder', () => {
  it('keeps the last good snapshot when a document does not compile, and says why', async () => {
    const holder = new SnapshotHolder(compileDocument)
    expect(holder.current).toBeUndefined()
    const good = seal({ ...EMPTY_CONTENT, tools: [aTool()] })
    expect(await holder.publish(good)).toBeUndefined()
    const bad = seal({ ...EMPTY_CONTENT, consumers: { me: 'nothing' } })
    expect(await holder.publish(bad)).toMatch(/nothing/)
    expect(holder.current?.version).toBe(good.version)
    expect(holder.lastFault).toMatch(/nothing/)
    await holder.publish(seal(EMPTY_CONTENT))
    expect(holder.lastFault).toBeUndefined()
  })

  it('has no fault once the document that it serves is the newest again', async () => {
    const holder = new SnapshotHolder(compileDocument)
    const good = seal({ ...EMPTY_CONTENT, tools: [aTool()] })
    await holder.publish(good)
    await holder.publish(seal({ ...EMPTY_CONTENT, consumers: { me: 'nothing' } }))
    expect(await holder.publish(good)).toBeUndefined()
    expect(holder.lastFault).toBeUndefined()
  })

  it('notifies listeners of a swap, but not when the version is the same', async () => {
    const holder = new SnapshotHolder(compileDocument)
    const swaps: (string | undefined)[] = []
    holder.onSwap((_, previous) => swaps.push(previous?.version))
    const first = seal(EMPTY_CONTENT)
    await holder.publish(first)
    await holder.publish(first)
    await holder.publish(seal({ ...EMPTY_CONTENT, tools: [aTool()] }))
    expect(swaps).toEqual([undefined, first.version])
  })

  it('accepts the version that it serves already', async () => {
    const holder = new SnapshotHolder(compileDocument)
    const document = seal(EMPTY_CONTENT)
    await holder.publish(document)
    expect(await holder.publish(document)).toBeUndefined()
  })

  it('adopts a policy for the document it serves, and lists nothing that the other policy has listed', async () => {
    const holder = new SnapshotHolder(compileDocument)
    const versions: (string | undefined)[] = []
    holder.onSwap((next, previous) => versions.push(next.version, previous?.version))
    const policy = aPolicy()
    holder.adopt(policy)
    expect(holder.current).toBeUndefined()
    const document = seal({ ...EMPTY_CONTENT, tools: [aTool()] })
    await holder.publish(document)
    const before = holder.current!
    before.listings.set('x', { tools: [], tail: '' } as never)
    holder.adopt(policy)
    expect(holder.current).toMatchObject({ version: document.version, toolCount: 1, policy })
    expect(holder.current!.listings.size).toBe(0)
    expect(holder.current!.toolsOf('acme')).toBe(before.toolsOf('acme'))
    expect(versions).toEqual([document.version, undefined, document.version, document.version])
  })
})

describe('20,000 tools', () => {
  const tools = Array.from({ length: 20_000 }, (_, at) => aTool({ name: `tool_${at}` }))
  const content = { ...EMPTY_CONTENT, tools }

  /** How often other work ran while the promise was pending. */
  async function turnsDuring<T>(work: Promise<T>): Promise<{ readonly value: T; readonly turns: number }> {
    let turns = 0
    let ended = false
    const count = (): void => {
      turns++
      if (!ended) setImmediate(count)
    }
    setImmediate(count)
    const value = await work
    ended = true
    return { value, turns }
  }

  it('are sealed and compiled in many turns of the event loop, while the last snapshot is served', async () => {
    const sealed = await turnsDuring(sealInSlices(content))
    expect(sealed.value.version).toBe(seal(content).version)
    expect(sealed.turns).toBeGreaterThan(10)

    const compiler = new SnapshotCompiler(preparedTool)
    const holder = new SnapshotHolder(async document => {
      const make = await runInSlices(compiler.compileSteps(document))
      return () => make(aPolicy())
    })
    await holder.publish(seal(EMPTY_CONTENT))
    const before = holder.current
    const publication = holder.publish(sealed.value)
    const compiled = turnsDuring(publication)
    await new Promise(resolve => setImmediate(resolve))
    expect(holder.current).toBe(before)
    expect((await compiled).turns).toBeGreaterThan(10)
    expect(holder.current?.toolCount).toBe(20_000)
  })
})
