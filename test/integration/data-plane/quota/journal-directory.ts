/** A directory for a journal of one test, and a copy of one as a crash leaves it. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export function newDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'journal-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return join(dir, 'quota')
}

/** A copy of what is on the disk now, as a process that ends this instant would leave it, without its lock. */
export function crashed(dir: string): string {
  const copy = newDirectory()
  cpSync(dir, copy, { recursive: true, filter: source => !source.endsWith('/lock') })
  return copy
}
