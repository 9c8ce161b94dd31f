/** The lock on a PGlite directory: one owner at a time, also across processes, and a dead owner never blocks. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lockDirectory } from '../../../../src/control-plane/store/pglite/directory-lock.ts'

let parent: string
let directory: string
const noFault = (message: string) => {
  throw new Error(message)
}

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'toolgate-lock-'))
  directory = join(parent, 'db')
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

/** Writes a lock file as another process would have left it. */
function foreignLock(fields: object, ageMs = 0): void {
  const path = `${directory}.lock`
  writeFileSync(path, JSON.stringify({ token: 'theirs', pid: 1, started: '1', host: hostname(), ...fields }))
  const at = new Date(Date.now() - ageMs)
  utimesSync(path, at, at)
}

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await new Promise(resolve => child.once('exit', resolve))
  return child.pid!
}

describe('lock on a data directory', () => {
  it('is refused while its owner lives, naming directory and process', () => {
    const lock = lockDirectory(directory, noFault)
    expect(() => lockDirectory(directory, noFault)).toThrow(
      new RegExp(`db is in use by process ${process.pid}`),
    )
    lock.release()
  })

  it('is free again after release', () => {
    lockDirectory(directory, noFault).release()
    expect(existsSync(`${directory}.lock`)).toBe(false)
    lockDirectory(directory, noFault).release()
  })

  it('is taken over from a process that is gone', async () => {
    foreignLock({ pid: await deadPid() })
    lockDirectory(directory, noFault).release()
  })

  it('is taken over when the pid lives but belongs to a later process', () => {
    foreignLock({ pid: process.pid, started: '12345' })
    lockDirectory(directory, noFault).release()
  })

  it('of another host counts as held until it has not been refreshed for half a minute', () => {
    foreignLock({ host: 'elsewhere', pid: process.pid }, 20_000)
    expect(() => lockDirectory(directory, noFault)).toThrow(/on elsewhere/)
    foreignLock({ host: 'elsewhere', pid: process.pid }, 31_000)
    lockDirectory(directory, noFault).release()
  })

  it('does not remove the lock of whoever took it over', () => {
    const lock = lockDirectory(directory, noFault)
    foreignLock({ token: 'somebody else' })
    lock.release()
    expect(readFileSync(`${directory}.lock`, 'utf8')).toContain('somebody else')
  })

  it('is got by exactly one of several processes that find a dead owner at once', async () => {
    foreignLock({ pid: await deadPid() })
    const script = `import { lockDirectory } from ${JSON.stringify(join(import.meta.dirname, '../../../../src/control-plane/store/pglite/directory-lock.ts'))}
      try { lockDirectory(process.argv[1], () => {}); process.stdout.write('got'); setTimeout(() => process.exit(0), 3000) }
      catch { process.stdout.write('refused'); process.exit(0) }`
    const runs = Array.from({ length: 4 }, () => {
      const child = spawn(process.execPath, [
        '--import',
        'tsx',
        '--input-type=module',
        '-e',
        script,
        directory,
      ])
      return new Promise<string>(resolve => {
        let out = ''
        child.stdout.on('data', chunk => {
          out += chunk
        })
        child.once('exit', () => resolve(out))
      })
    })
    const answers = await Promise.all(runs)
    expect(answers.sort()).toEqual(['got', 'refused', 'refused', 'refused'])
  })
})
