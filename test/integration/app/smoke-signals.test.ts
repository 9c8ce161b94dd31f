/** `scripts/smoke.mjs` at a signal: the process that it has started ends, and its folder is removed. The deployment is a script in the place of npm. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'

const SMOKE = join(import.meta.dirname, '../../../scripts/smoke.mjs')
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolgate-smoke-test-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'leaves no process and no file at %s',
  async signal => {
    const [temporary, pidFile] = [join(folder, 'tmp'), join(folder, 'pid')]
    mkdirSync(temporary)
    const npm = join(folder, 'npm')
    writeFileSync(
      npm,
      `#!/bin/sh\nmkdir "$DATA_DIR"\necho $$ > '${pidFile}.part'\nmv '${pidFile}.part' '${pidFile}'\nexec sleep 300\n`,
    )
    chmodSync(npm, 0o755)
    const child = spawn(process.execPath, [SMOKE], {
      env: { PATH: `${folder}:${process.env.PATH}`, TMPDIR: temporary },
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    await expect.poll(() => existsSync(pidFile), { timeout: 20_000 }).toBe(true)
    const pid = Number(readFileSync(pidFile, 'utf8'))
    expect([isAlive(pid), readdirSync(temporary).length]).toEqual([true, 1])
    child.kill(signal)
    await ended
    try {
      expect(readdirSync(temporary)).toEqual([])
      await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false)
    } finally {
      if (isAlive(pid)) process.kill(pid, 'SIGKILL')
    }
  },
  60_000,
)
