/** Which changes and updates a gateway serves, in which form they are delivered, and what stays after one that is not served. */
import { describe, expect, it } from 'vitest'
import { Configuration } from '../../../../src/data-plane/snapshot/gateway-configuration.ts'
import { applyChange, type SnapshotChange } from '../../../../src/link/change.ts'
import { applyUpdate, EMPTY_SHARE } from '../../../../src/link/control-share.ts'
import { EMPTY_CONTENT, type SnapshotDocument } from '../../../../src/link/document.ts'
import type { TenantShare } from '../../../../src/link/share-schema.ts'
import { versionOf } from '../../../../src/link/share-version.ts'
import { SILENT } from '../../../../src/telemetry/log.ts'
import { aTool } from '../../../fixtures/exchange.ts'

function open(awaited: ('tools' | 'control')[] = []) {
  const delivered: { document: SnapshotDocument; change: SnapshotChange }[] = []
  const refuse = { when: (_: SnapshotDocument): boolean => false }
  const configuration = new Configuration({
    content: EMPTY_CONTENT,
    awaited,
    deliver(document, change) {
      if (refuse.when(document)) return 'not this one'
      delivered.push({ document, change })
      return undefined
    },
    log: SILENT,
  })
  return { configuration, delivered, refuse }
}

const tenant = (id: string): TenantShare => ({
  id,
  name: id,
  suspended: false,
  plans: [],
  apis: [],
  subscriptions: [],
  keys: [],
  consumers: [],
  tools: [],
})

function step(share = EMPTY_SHARE, ...ids: string[]) {
  const base = share.version === '' ? null : share.version
  const update = { version: '', base, plans: [], tenants: ids.map(tenant), removed: [] }
  return { ...update, version: versionOf(applyUpdate(share, update)) }
}

describe('the configuration of a gateway', () => {
  it('is delivered whole once every awaited part has arrived, and then in changes', async () => {
    const { configuration, delivered } = open(['tools', 'control'])
    await configuration.update(step(EMPTY_SHARE, 'acme'))
    expect(delivered).toEqual([])
    await configuration.change({ tools: [aTool()] })
    await configuration.update(step(configuration.share, 'globex'))
    let content = EMPTY_CONTENT
    for (const { document, change } of delivered) {
      content = applyChange(content, change)
      expect({ ...content, version: change.version }).toEqual(document)
    }
    expect(delivered.map(({ change }) => Object.keys(change).length)).toEqual([5, 2])
    expect([...content.control.tenants.keys()]).toEqual(['acme', 'globex'])
  })

  it('stays as it was after a change that is not served', async () => {
    const { configuration, delivered, refuse } = open()
    await configuration.update(step(EMPTY_SHARE, 'acme'))
    const { version } = configuration.share
    refuse.when = () => true
    expect(await configuration.update(step(configuration.share, 'globex'))).toEqual({
      kind: 'refused',
      reason: 'not this one',
    })
    expect(await configuration.change({ tools: [aTool()] })).toBe('not this one')
    expect([configuration.share.version, delivered.length]).toEqual([version, 1])
  })

  it('is served without the last part when that part is at fault', async () => {
    const { configuration, delivered, refuse } = open(['tools', 'control'])
    refuse.when = document => document.tools.length > 0
    await configuration.update(step(EMPTY_SHARE, 'acme'))
    expect(await configuration.change({ tools: [aTool()] })).toBe('not this one')
    expect(delivered.map(({ document }) => [document.tools.length, document.control.tenants.size])).toEqual([
      [0, 1],
    ])
  })

  it('refuses malformed updates, contents of another version, and updates of another base', async () => {
    const { configuration } = open()
    const good = step(EMPTY_SHARE, 'acme')
    const kinds = []
    for (const update of [
      'text',
      { ...good, version: 'f'.repeat(64) },
      good,
      { ...good, base: 'e'.repeat(64) },
    ])
      kinds.push((await configuration.update(update as typeof good)).kind)
    expect(kinds).toEqual(['invalid', 'invalid', 'served', 'stale'])
  })
})
