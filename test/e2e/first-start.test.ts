/** The first start with the embedded database, as `npm start` runs it: memory of the whole process tree. */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { FREE_PORTS } from '../fixtures/free-ports.ts'

const BIN = join(import.meta.dirname, '../../dist/cli/index.js')
const MAX_MIB = 512

/** Resident memory of a process and its children, in MiB (proc(5)); 0 of a process that has ended. */
function treeMib(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
    const own = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
    return children.reduce((sum, child) => sum + treeMib(Number(child)), own)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return 0
    throw error
  }
}

async function peakUntilReady(child: ChildProcess): Promise<number> {
  let printed = ''
  child.stdout!.on('data', text => {
    printed += text
  })
  let peak = 0
  while (!printed.includes('"ready":true')) {
    expect(child.exitCode, printed).toBeNull()
    peak = Math.max(peak, treeMib(child.pid!))
    await sleep(5)
  }
  return peak
}

it.skipIf(process.platform !== 'linux')(
  `takes less than ${MAX_MIB} MiB`,
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-first-'))
    const child = spawn(process.execPath, [BIN, 'serve'], {
      env: { PATH: process.env.PATH, LOG_LEVEL: 'error', WORKERS: '1', DATA_DIR: dataDir, ...FREE_PORTS },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      const peakMib = await peakUntilReady(child)
      expect(peakMib).toBeLessThan(MAX_MIB)
      // 0: nothing could be read
      expect(peakMib).toBeGreaterThan(0)
    } finally {
      const ended = new Promise(resolve => child.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
      rmSync(dataDir, { recursive: true, force: true })
    }
  },
  180_000,
)
