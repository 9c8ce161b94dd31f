/** The sources a bundle is made of, and their revision. It compiles nothing. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Source {
  /** Relative to the folder of the policies, with `/`. */
  readonly path: string
  readonly content: Buffer
}

/** Hex digits of the revision; enough that two never meet, short enough for a log line. */
const REVISION_DIGITS = 32

/** Rego modules and data documents, sorted by path; tests, schemas and everything else stay outside. Links are not followed. */
export function readSources(dir: string): readonly Source[] {
  const sources: Source[] = []
  function walk(below: string): void {
    for (const entry of readdirSync(join(dir, below), { withFileTypes: true })) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`
      if (entry.name.startsWith('.')) continue
      if (entry.isDirectory()) walk(path)
      else if (entry.isFile() && isSource(entry.name))
        sources.push({ path, content: readFileSync(join(dir, path)) })
    }
  }
  walk('')
  return sources.sort((a, b) => (a.path < b.path ? -1 : 1))
}

function isSource(name: string): boolean {
  if (name.endsWith('.rego')) return !name.endsWith('_test.rego')
  // what `opa build -b` takes for data
  return name === 'data.json' || name === 'data.yaml' || name === 'data.yml'
}

/** SHA-256 over paths and contents: same sources, same revision. */
export function revisionOf(sources: readonly Source[]): string {
  const hash = createHash('sha256')
  for (const { path, content } of sources) hash.update(`${path}\0${content.length}\0`).update(content)
  return hash.digest('hex').slice(0, REVISION_DIGITS)
}
