/** Tool objects of a cluster: made, merged three ways, taken away. */
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../../src/catalog/kubernetes/api.ts'
import { editedFields, planObjects, toolNameOf } from '../../../../src/catalog/kubernetes/tool-objects.ts'
import { compile, openapi } from '../build.ts'

const GROUP = 'toolgate.dev'
const OWNER = { name: 'shop', namespace: 'tenant-acme', uid: 'u-1' }

function tools(...summaries: [string, string][]) {
  const paths = Object.fromEntries(
    summaries.map(([id, summary]) => [`/${id}`, { get: { operationId: id, summary } }]),
  )
  return compile(openapi(paths)).tools
}

/** As the API server gives them back: keys in another order. */
function stored(objects: readonly KubeObject[]): KubeObject[] {
  const reordered = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reordered)
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, inner]) => [key, reordered(inner)]),
    )
  }
  return objects.map(
    object => reordered({ ...object, metadata: { ...object.metadata, resourceVersion: '1' } }) as KubeObject,
  )
}

function edited(object: KubeObject, fields: object): KubeObject {
  return { ...object, spec: { ...object.spec, ...fields } }
}

describe('tool objects', () => {
  it('are made for new tools, owned by the tool-set, with DNS names that stay apart', () => {
    const { create, replace, remove } = planObjects(
      tools(['listOrders', 'x'], ['list_orders', 'y'], ['ping', 'z']),
      [],
      OWNER,
      GROUP,
    )
    expect([replace, remove]).toEqual([[], []])
    const names = create.map(object => object.metadata.name)
    for (const name of names) expect(name).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/)
    expect(new Set(names).size).toBe(3)
    expect(names).toContain('ping')
    expect(create.map(object => toolNameOf(object, GROUP))).toEqual(['listOrders', 'list_orders', 'ping'])
    expect(create[0]?.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'ToolSet', uid: 'u-1' })
  })

  it.each(['a..b', 'a.-b', 'a-.b', 'A._.b', '-a.', '...', 'a.b-c'])(
    'of the tool %s have a name that the API server accepts',
    operation => {
      const names = planObjects(tools([operation, 'x']), [], OWNER, GROUP).create.map(
        each => each.metadata.name,
      )
      const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
      expect(names).toEqual([expect.stringMatching(new RegExp(`^${label}(\\.${label})*$`))])
    },
  )

  it.each(['a'.repeat(62), 'a.b'])(
    'have a label that the API server accepts for %s and longer names',
    start => {
      for (const rest of ['', '-b', '.b', '--b', '.-.b']) {
        const owner = { ...OWNER, name: `${start}${rest}` }
        const [made] = planObjects(tools(['a', 'x']), [], owner, GROUP).create
        const label = made!.metadata.labels![`${GROUP}/tool-set`]!
        expect(label).toMatch(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/)
        expect(owner.name.startsWith(label)).toBe(true)
      }
    },
  )

  it('that are as they should be are left alone', () => {
    const wanted = tools(['a', 'Does a'])
    const live = stored(planObjects(wanted, [], OWNER, GROUP).create)
    expect(planObjects(wanted, live, OWNER, GROUP)).toEqual({ create: [], replace: [], remove: [] })
    expect(editedFields(live[0]!, GROUP)).toEqual({})
  })

  it('follow the document in unedited fields, and keep edited ones', () => {
    const live = stored(planObjects(tools(['a', 'Does a']), [], OWNER, GROUP).create)
    const manualByKey = edited(live[0]!, { description: 'By hand.', timeout: '5s' })
    expect(editedFields(manualByKey, GROUP)).toEqual({ description: 'By hand.', timeout: '5s' })
    const { replace } = planObjects(tools(['a', 'Does a better']), [manualByKey], OWNER, GROUP)
    expect(replace[0]?.spec).toMatchObject({
      description: 'By hand.',
      timeout: '5s',
      displayName: 'Does a better',
    })
    expect(editedFields(replace[0]!, GROUP)).toEqual({ description: 'By hand.', timeout: '5s' })
    const again = planObjects(tools(['a', 'Does a better']), stored(replace), OWNER, GROUP)
    expect(again).toEqual({ create: [], replace: [], remove: [] })
  })

  it('are deleted with their operation; objects made by hand stay', () => {
    const live = stored(planObjects(tools(['a', 'x'], ['b', 'y']), [], OWNER, GROUP).create)
    const foreign: KubeObject = {
      metadata: { name: 'mine', namespace: 'tenant-acme' },
      spec: { description: 'x' },
    }
    const { remove } = planObjects(tools(['a', 'x']), [...live, foreign], OWNER, GROUP)
    expect(remove.map(object => object.metadata.name)).toEqual(['b'])
    expect(editedFields(foreign, GROUP)).toEqual({ description: 'x' })
  })
})
