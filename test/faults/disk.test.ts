/** A full disk below DATA_DIR: calls without a limit go on, and each that returned 200 has its event in the spool once there is space. */

import { randomUUID } from 'node:crypto'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { decodeEvent } from '../../src/data-plane/metering/event-codec.ts'
import { aReader, drain } from '../fixtures/metering.ts'
import { mountSmallDisk, WITHOUT_MOUNT } from '../fixtures/small-disk.ts'
import { runTable } from './run-table.ts'
import { prepareSubject } from './subject.ts'
import { DISK } from './tables/disk.ts'
import type { World } from './world.ts'

async function open(): Promise<World> {
  const { directory: mount, unmount } = mountSmallDisk(48)
  const filler = join(mount, 'filler')
  const subject = await prepareSubject({
    env: { DATA_DIR: join(mount, 'data'), METERING_SPOOL_MAX: '16MiB', DECISION_LOG: 'off' },
  })
  const responded = new Set<string>()
  return {
    subject: subject.process,
    dependency: {
      async apply() {
        const { bavail, bsize } = statfsSync(mount)
        try {
          writeFileSync(filler, Buffer.alloc(bavail * bsize))
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
        }
      },
      async restore() {
        rmSync(filler, { force: true })
      },
    },
    maxCallMs: 2_000,
    async call() {
      const id = randomUUID()
      const called = await subject.callTool('fast', subject.unlimitedToken, id)
      if (called.status === 200) responded.add(id)
      return called
    },
    longCall: () => subject.callTool('slow', subject.unlimitedToken),
    longCalls: subject.slowCalls,
    isFine: ({ status }) => status === 200,
    see: () => subject.see('metering spool'),
    async begin() {
      responded.clear()
    },
    async verify() {
      const missing = (): string[] => {
        const events = drain(aReader(join(mount, 'data', 'metering'))).map(decodeEvent)
        const there = new Set(events.map(event => event.request_id))
        return [...responded].filter(id => !there.has(id))
      }
      await expect.poll(missing, { timeout: 10_000 }).toEqual([])
    },
    async close() {
      await subject.close()
      unmount()
    },
  }
}

runTable(DISK, { skip: WITHOUT_MOUNT, open })
