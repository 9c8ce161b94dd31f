/** The development provider in a thread: it serves, follows the clock, and leaves async hooks off in the thread that serves calls. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const CHILD = join(import.meta.dirname, '../../fixtures/dev-provider-child.ts')

async function run(where: 'main' | 'thread'): Promise<Record<string, unknown>> {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-dev-thread-'))
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', CHILD, where, dir])
    return JSON.parse(stdout)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** Node 24 follows contexts without async hooks. */
const LIBRARY_USES_HOOKS = Number(process.versions.node.split('.')[0]) < 24

it('serves tokens, follows the clock, and leaves async hooks off', async () => {
  const { asyncHooks, advancedSeconds, taken, closed, lines } = await run('thread')
  expect(asyncHooks).toBe(false)
  expect(advancedSeconds).toBeGreaterThanOrEqual(3600)
  expect(advancedSeconds).toBeLessThan(3700)
  expect(taken).toMatch(/^port \d+ on 127\.0\.0\.1 is taken\. Set AUTH_PORT/)
  expect(closed).toBe('closed')
  expect(lines).toEqual(['the embedded identity provider is running; it is for development only'])
})

it.runIf(LIBRARY_USES_HOOKS)(
  'would turn them on in the thread where its library runs, which is why it has one',
  async () => {
    expect((await run('main')).asyncHooks).toBe(true)
  },
)
