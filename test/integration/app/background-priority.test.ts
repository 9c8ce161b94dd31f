/** V8's background threads get a lower priority, in a real process; the threads that serve calls keep theirs. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { getPriority } from 'node:os'
import { expect, test } from 'vitest'

const CHILD = new URL('./background-priority-child.ts', import.meta.url)
/** For Node: the thread of delayed tasks, and the pool of four that it starts by default. */
const BACKGROUND = 5

async function nicesWith(
  options: readonly string[],
): Promise<{ main: number; lowered: number; kept: number }> {
  const child = fork(CHILD, { execArgv: ['--import', 'tsx', ...options] })
  const [{ nices }] = (await once(child, 'message')) as [{ nices: Readonly<Record<string, number>> }]
  const main = nices[String(child.pid)]!
  const lowered = Object.values(nices).filter(nice => nice > main).length
  return { main, lowered, kept: Object.values(nices).length - lowered }
}

test.runIf(process.platform === 'linux')(
  'only the background threads of V8 have a lower priority than the main thread',
  async () => {
    const { main, lowered, kept } = await nicesWith([])
    expect(main).toBe(getPriority())
    expect(lowered).toBe(BACKGROUND)
    // the main thread and the one that was started later, at least
    expect(kept).toBeGreaterThanOrEqual(2)
  },
)

test.runIf(process.platform === 'linux')(
  'a pool of another size is lowered whole, and nothing beside it',
  async () => {
    const { main, lowered } = await nicesWith(['--v8-pool-size=2'])
    expect(main).toBe(getPriority())
    expect(lowered).toBe(3)
  },
)
