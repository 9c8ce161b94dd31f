/** The profiler that `npm run bench:profile` preloads into a process: each order is carried out, or the response says why not. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ProfilerOrder, ProfilerResponse } from '../../bench/profile/served-child.ts'

const AGENT = new URL('../../bench/profile/profiler-agent.mjs', import.meta.url).href
const folder = mkdtempSync(join(tmpdir(), 'toolgate-profiler-'))
let child: ChildProcess

beforeAll(async () => {
  child = spawn(process.execPath, ['--import', AGENT, '-e', 'setInterval(() => {}, 1000)'], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
})
afterAll(async () => {
  if (child.exitCode === null) {
    child.kill()
    await once(child, 'exit')
  }
  rmSync(folder, { recursive: true, force: true })
})

async function order(message: ProfilerOrder): Promise<ProfilerResponse> {
  child.send(message)
  const [response] = (await once(child, 'message')) as [ProfilerResponse]
  return response
}

it('writes a profile, and says why it cannot', async () => {
  const file = join(folder, 'a.cpuprofile')
  expect(await order({ order: 'start', intervalUs: 1000 })).not.toHaveProperty('fault')
  expect(await order({ order: 'stop', file })).not.toHaveProperty('fault')
  expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveProperty('nodes')

  await order({ order: 'start', intervalUs: 1000 })
  const nowhere = join(folder, 'missing', 'a.cpuprofile')
  expect((await order({ order: 'stop', file: nowhere })).fault).toContain('ENOENT')

  const refused = await order({ order: 'start', intervalUs: 0.5 })
  expect(refused.fault).toContain('Invalid parameters')
  expect((await order({ order: 'stop', file })).fault).toContain('No recording profiles found')
})
