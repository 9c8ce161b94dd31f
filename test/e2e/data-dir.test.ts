/** A real `toolgate serve` under umask 000: DATA_DIR becomes private to its user; a folder of another user, or shared by all, stays open, with a warning. */

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { Addresses } from '../../src/app/main.ts'
import { copyTemplate } from '../contract/store/pglite-template.ts'
import { built } from '../fixtures/built.ts'
import { post, rpc } from '../fixtures/deployment.ts'
import { FREE_PORTS } from '../fixtures/free-ports.ts'
import { processEnv } from '../fixtures/process-env.ts'
import { clientToken } from '../fixtures/tokens.ts'

const FOREIGN_UID = 54321

/** Everything below a folder and itself, links not followed, as `mode path`. */
function modesIn(folder: string, within = ''): string[] {
  const path = join(folder, within)
  const found = lstatSync(path)
  if (found.isSymbolicLink()) return []
  const own = `${(found.mode & 0o777).toString(8).padStart(3, '0')} ${within || '.'}`
  if (!found.isDirectory()) return [own]
  return [own, ...readdirSync(path).flatMap(name => modesIn(folder, join(within, name)))]
}

const openToOthers = (folder: string): string[] => modesIn(folder).filter(line => !/^.00 /.test(line))

function openEverything(folder: string): void {
  for (const line of modesIn(folder)) {
    const path = join(folder, line.slice(4))
    chmodSync(path, statSync(path).isDirectory() ? 0o777 : 0o666)
  }
}

describe('DATA_DIR', () => {
  const root = mkdtempSync(join(tmpdir(), 'data-dir-'))
  let child: ChildProcess | undefined
  let output = ''

  async function serve(dataDir: string): Promise<Addresses> {
    output = ''
    const env = { ...processEnv(), ...FREE_PORTS, DATA_DIR: dataDir, WORKERS: '2', LOG_LEVEL: 'info' }
    const command = ['-c', 'umask 000; exec "$@"', 'sh', process.execPath, built('cli/index.js'), 'serve']
    const started = spawn('sh', command, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    child = started
    return new Promise((resolve, reject) => {
      const read = (chunk: Buffer): void => {
        output += chunk.toString()
        const ready = /^\{"ready":true.*\}$/m.exec(output)
        if (ready !== null) resolve(JSON.parse(ready[0]) as Addresses)
      }
      started.stdout.on('data', read)
      started.stderr.on('data', read)
      started.once('exit', code => reject(new Error(`toolgate serve ended with ${code}: ${output}`)))
    })
  }

  async function stop(): Promise<void> {
    const running = child
    child = undefined
    if (running === undefined || running.exitCode !== null) return
    const gone = once(running, 'exit')
    running.kill('SIGTERM')
    await gone
  }

  /** Calls that are metered, counted and logged. */
  async function call({ gateway_url, auth_url }: Addresses): Promise<void> {
    const token = await clientToken(auth_url, 'demo-admin')
    const params = { name: 'shop_runSalesReport', arguments: { stepMs: 1 } }
    for (let round = 0; round < 5; round++) {
      const response = await post(`${gateway_url}/mcp`, rpc('tools/call', params), token, {
        'x-tenant-id': 'acme',
      })
      expect(response.status).toBe(200)
    }
  }

  afterEach(stop, 30_000)
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  it('is made private to its user when it is new, and stays so', async () => {
    const dataDir = join(root, 'deep', 'new')
    await call(await serve(dataDir))
    expect(openToOthers(dataDir)).toEqual([])
    expect(openToOthers(join(root, 'deep'))).toEqual([])
    expect(modesIn(dataDir).length).toBeGreaterThan(500)
    await stop()
    expect(openToOthers(dataDir)).toEqual([])
  }, 120_000)

  it('is corrected when others could write to it, but for what links lead to, and stays so over a restart', async () => {
    const dataDir = join(root, 'open')
    await copyTemplate(join(dataDir, 'postgres'))
    mkdirSync(join(dataDir, 'metering'))
    openEverything(dataDir)
    const outside = join(root, 'outside')
    mkdirSync(outside)
    writeFileSync(join(outside, 'file'), '')
    openEverything(outside)
    symlinkSync(join(outside, 'file'), join(dataDir, 'link'))
    symlinkSync(outside, join(dataDir, 'folder'))

    await call(await serve(dataDir))
    expect(openToOthers(dataDir)).toEqual([])
    expect(output).toMatch(/"corrected":\d{3,}/)
    expect(modesIn(outside)).toEqual(['777 .', '666 file'])
    await stop()
    expect(openToOthers(dataDir)).toEqual([])

    await call(await serve(dataDir))
    expect(openToOthers(dataDir)).toEqual([])
    expect(output).not.toMatch(/"corrected"/)
  }, 120_000)

  it.skipIf(process.geteuid?.() !== 0)(
    'is used as it is, with a warning, when it belongs to someone else, as a volume of Kubernetes does',
    async () => {
      const dataDir = join(root, 'volume')
      await copyTemplate(join(dataDir, 'postgres'))
      openEverything(dataDir)
      chmodSync(dataDir, 0o2777)
      chownSync(dataDir, FOREIGN_UID, FOREIGN_UID)

      await call(await serve(dataDir))
      expect(openToOthers(dataDir)).toEqual(['777 .'])
      expect(output).toMatch(/other users can write to DATA_DIR/)
    },
    120_000,
  )

  it('is left alone, with a warning, when all users share it, as they do /tmp', async () => {
    const dataDir = join(root, 'shared')
    mkdirSync(dataDir)
    writeFileSync(join(dataDir, 'file'), '')
    openEverything(dataDir)
    chmodSync(dataDir, 0o1777)

    await serve(dataDir)
    expect(openToOthers(dataDir)).toEqual(['777 .', '666 file'])
    expect(output).toMatch(/DATA_DIR is a directory shared by all users/)
  }, 120_000)

  const immutable = join(root, 'immutable')
  it.skipIf(!canBeImmutable(immutable))(
    'is refused when every user can write to it and that cannot be changed',
    async () => {
      execFileSync('chattr', ['+i', immutable])
      try {
        await expect(serve(immutable)).rejects.toThrow(
          /ended with 78: .*DATA_DIR \(.*immutable\) is writable by every user \(mode 0777\)/s,
        )
      } finally {
        execFileSync('chattr', ['-i', immutable])
      }
    },
    60_000,
  )
})

/** Whether this user and this file system have folders that chmod(2) fails on. Makes the folder, open to every user. */
function canBeImmutable(folder: string): boolean {
  mkdirSync(folder)
  chmodSync(folder, 0o777)
  const able = spawnSync('chattr', ['+i', folder]).status === 0
  if (able) execFileSync('chattr', ['-i', folder])
  return able
}
