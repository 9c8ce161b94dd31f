/** What it costs to get a fresh string into linear memory: the figures behind `SHORT` in src/data-plane/kernel/path-window.ts. */
import { shareMemory } from '../../src/data-plane/kernel/layout.ts'
import { PathWindow } from '../../src/data-plane/kernel/path-window.ts'
import type { BenchCase, Suite } from '../suite.ts'
import { BATCH, FreshPaths } from './requests.ts'

const encoder = new TextEncoder()

function cases(length: number): BenchCase[] {
  const { layout, memory } = shareMemory()
  const bytes = new Uint8Array(memory.buffer, layout.arenaBase, 8192)
  const buffer = Buffer.from(memory.buffer, layout.arenaBase, 8192)
  const window = new PathWindow(memory.buffer, layout.arenaBase)
  const paths = Array.from({ length: 4096 }, (_, i) => `/${String(i).repeat(40)}`.slice(0, length))
  const fresh = new FreshPaths(paths)
  const prepare = (): void => fresh.next()
  const check = (): void => {
    if (buffer.toString('latin1', 0, length) !== paths[fresh.at + BATCH - 1]) throw new Error('a wrong copy')
  }
  return [
    {
      id: `${length}/window`,
      perRun: BATCH,
      prepare,
      run() {
        for (let i = 0; i < BATCH; i++) window.write(fresh.batch[i]!)
        check()
      },
    },
    {
      id: `${length}/encode-into`,
      perRun: BATCH,
      prepare,
      run() {
        for (let i = 0; i < BATCH; i++) encoder.encodeInto(fresh.batch[i]!, bytes)
        check()
      },
    },
    {
      id: `${length}/latin1-write`,
      perRun: BATCH,
      prepare,
      run() {
        for (let i = 0; i < BATCH; i++) buffer.write(fresh.batch[i]!, 'latin1')
        check()
      },
    },
    {
      id: `${length}/loop`,
      perRun: BATCH,
      prepare,
      run() {
        for (let i = 0; i < BATCH; i++) {
          const path = fresh.batch[i]!
          for (let at = 0; at < path.length; at++) bytes[at] = path.charCodeAt(at)
        }
        check()
      },
    },
  ]
}

export default {
  id: 'kernel/copy',
  title: 'A fresh string of 8, 24, 40 or 100 characters into linear memory',
  reference: 'encode-into',
  cases: () => [8, 24, 40, 100].flatMap(cases),
} satisfies Suite
