/** Where a figure was taken: machine, versions, commit. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'

export interface Place {
  readonly machine: {
    readonly cpu: string
    readonly cores: number
    readonly memoryMiB: number
    readonly os: string
  }
  readonly versions: { readonly toolgate: string; readonly node: string; readonly v8: string }
  /** Short hash; `unknown` outside a repository. */
  readonly commit: string
  /** Whether a file of the commit was changed. */
  readonly dirty: boolean
}

const ROOT = fileURLToPath(new URL('../', import.meta.url))

export function place(): Place {
  const processors = cpus()
  const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string }
  return {
    machine: {
      cpu: processors[0]?.model.trim() ?? 'unknown',
      cores: processors.length,
      memoryMiB: Math.round(totalmem() / 1024 ** 2),
      os: `${process.platform} ${process.arch} ${release()}`,
    },
    versions: { toolgate: version, node: process.version, v8: process.versions.v8 },
    commit: git('rev-parse', '--short', 'HEAD') || 'unknown',
    dirty: git('status', '--porcelain', '--untracked-files=no') !== '',
  }
}

/** @returns what it said; '' without a repository or git */
function git(...args: string[]): string {
  try {
    return execFileSync('git', args, {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return ''
  }
}
