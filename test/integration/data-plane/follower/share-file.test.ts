/** The share on disk over many starts: its size stays bounded. It checks the version, not the content; `test/contract/control/follower.test.ts` does. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ShareFile } from '../../../../src/data-plane/follower/share-file.ts'
import { applyUpdate, EMPTY_SHARE } from '../../../../src/link/control-share.ts'
import { versionOf } from '../../../../src/link/share-version.ts'

const LARGE_NAME = 'x'.repeat(300_000)

it('is rewritten when the updates outgrow it, also when the process starts again after each of them', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'share-'))
  const path = join(dir, 'share')
  let share = EMPTY_SHARE
  for (let start = 0; start < 20; start++) {
    const file = new ShareFile(path)
    expect((await file.load()).share.version).toBe(share.version)
    const tenant = { id: 'one', name: `${start}${LARGE_NAME}`, suspended: false, plans: [], apis: [] }
    const lists = { subscriptions: [], keys: [], consumers: [], tools: [] }
    const base = share.version === '' ? null : share.version
    const update = { version: '', base, tenants: [{ ...tenant, ...lists }], removed: [] }
    const version = versionOf(applyUpdate(share, update))
    share = { ...applyUpdate(share, update), version }
    await file.save(share, { update: { ...update, version }, resync: null })
  }
  // the whole share, updates of at most 1 MiB, and the one that reached that
  expect(statSync(path).size).toBeLessThan(2_000_000)
  rmSync(dir, { recursive: true, force: true })
})
