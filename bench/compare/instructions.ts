/**
 * The instructions that a gateway executes for one call, counted in its main thread by an emulator of the processor. The count is the same on a
 * busy machine as on a quiet one, to 0.5 %; what the system does for a call (writes, wake-ups) and what memory costs are not in it.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { arch, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startBackend } from '../http/load/backend.ts'
import { type Case, casesOf } from '../http/load/cases.ts'
import { saturate } from '../http/load/closed-loop.ts'
import { MCP_SERVER } from '../http/load/requests.ts'
import { measureBuildIn, startToolgate } from '../http/load/toolgate.ts'
import { prepareAll } from '../http/load/wire.ts'

/** Then V8 has compiled what a call runs through. */
const WARM_UP_CALLS = 12_000
const WINDOW_CALLS = 2_000
const PLUGIN = new URL('count-instructions.c', import.meta.url).pathname
const QEMU = `qemu-${arch() === 'arm64' ? 'aarch64' : 'x86_64'}`

export interface Counting {
  /** Folders of built trees, measured one after the other. */
  readonly trees: readonly string[]
  /** Text in the ids of the cases. */
  readonly filter: string
  readonly windows: number
  readonly progress: (text: string) => void
}

/** By case id, for each window one figure for each tree. @throws Error without QEMU's user mode or a C compiler */
export async function measureInstructions(options: Counting): Promise<Map<string, number[][]>> {
  const { trees, windows } = options
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-instructions-'))
  try {
    const plugin = join(folder, 'count-instructions.so')
    requireProgram(QEMU, 'qemu-user')
    requireProgram('cc', 'gcc')
    execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', plugin, PLUGIN], { stdio: 'inherit' })
    const backend = startBackend()
    const measured = new Map<string, number[][]>()
    for (const [at, tree] of trees.entries())
      for (const [id, figures] of await measureTree(tree, backend, plugin, options)) {
        const rows = measured.get(id) ?? Array.from({ length: windows }, () => [])
        for (const [window, figure] of figures.entries()) rows[window]![at] = figure
        measured.set(id, rows)
      }
    return measured
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function requireProgram(name: string, packageName: string): void {
  if (spawnSync(name, ['--version']).error !== undefined)
    throw new Error(`${name} is not installed (Debian: apt-get install ${packageName})`)
}

async function measureTree(
  tree: string,
  backend: string,
  plugin: string,
  { filter, windows, progress }: Counting,
): Promise<Map<string, number[]>> {
  const counts = `${plugin}.${Date.now()}.counts`
  measureBuildIn(tree)
  const gateway = await startToolgate({
    upstream: backend,
    workers: 1,
    side: 'any',
    controlSide: 'any',
    mcpServer: `${backend}${MCP_SERVER}`,
    runner: [QEMU, '-plugin', plugin],
    env: { INSTRUCTIONS_FILE: counts },
  })
  try {
    const figures = new Map<string, number[]>()
    for (const one of await casesOf(gateway)) {
      if (!one.id.includes(filter)) continue
      await call(one, WARM_UP_CALLS)
      const taken: number[] = []
      while (taken.length < windows) {
        const before = countIn(counts)
        const calls = await call(one, WINDOW_CALLS)
        taken.push((countIn(counts) - before) / calls)
      }
      figures.set(one.id, taken)
      progress(`${tree} ${one.id}: ${taken.map(each => `${(each / 1000).toFixed(1)}k`).join(' ')}`)
    }
    return figures
  } finally {
    await gateway.stop()
  }
}

/** @returns how many calls were made */
async function call({ url, request, calls = 1 }: Case, count: number): Promise<number> {
  const prepared = prepareAll(url, request)
  let sent = 0
  const next = () => (sent * calls < count ? prepared[sent++ % prepared.length] : undefined)
  await saturate({ url, connections: 8, next })
  return sent * calls
}

/** Of the main thread, which is the first. */
function countIn(file: string): number {
  return Number(readFileSync(file).readBigUInt64LE(0))
}
