/** Closed loop with wrk, which checks every response with a script beside it (`wrk.lua`). */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pinned } from './child.ts'
import type { LoopOptions, LoopResult } from './loop-result.ts'
import { prepareAll } from './wire.ts'

const SCRIPT = new URL('./wrk.lua', import.meta.url).pathname
const FIGURES = /^FIGURES (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)$/m

export function hasWrk(): boolean {
  return spawnSync('wrk', ['-v']).error === undefined
}

/** @throws Error when a response was wrong */
export async function runWrk({ url, request, connections, seconds, side }: LoopOptions): Promise<LoopResult> {
  const dir = mkdtempSync(join(tmpdir(), 'wrk-'))
  try {
    const requests = prepareAll(url, request)
    const { status, holds } = requests[0]!
    for (const [at, { bytes }] of requests.entries()) writeFileSync(join(dir, `request-${at}`), bytes)
    writeFileSync(join(dir, 'requests'), String(requests.length))
    writeFileSync(join(dir, 'status'), String(status))
    writeFileSync(join(dir, 'holds'), holds)
    const said = await run(
      ...pinned(side, 'wrk', [
        '-t1',
        `-c${connections}`,
        // it takes whole seconds only; a part of `--seconds` may be any number
        `-d${Math.ceil(seconds)}s`,
        '--timeout',
        '10s',
        '-s',
        SCRIPT,
        url.replace('localhost', '127.0.0.1'),
        dir,
      ]),
    )
    const figures = FIGURES.exec(said)
    if (figures === null) throw new Error(`wrk did not report its figures: ${said}`)
    const [right, wrong, failed, tookUs, p50Us, p99Us, p999Us] = figures.slice(1).map(Number) as number[]
    if (wrong! + failed! > 0 || right === 0)
      throw new Error(
        `${url}${request.path}: ${wrong} wrong responses and ${failed} failures beside ${right} right ones, the run does not count. ${/^SAMPLE .*$/m.exec(said)?.[0] ?? ''}`,
      )
    return {
      perSecond: right! / (tookUs! / 1e6),
      requests: right!,
      p50Ms: p50Us! / 1000,
      p99Ms: p99Us! / 1000,
      p999Ms: p999Us! / 1000,
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** @returns what it printed; spawned and not spawnSync, since this process holds the backend */
function run(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.setEncoding('utf8').on('data', text => {
      said += text
    })
    child.once('error', reject)
    child.once('close', code =>
      code === 0 ? resolve(said) : reject(new Error(`wrk ended with ${code}: ${said}`)),
    )
  })
}
