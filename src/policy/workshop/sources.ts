/** Reads the sources and tests of a policy, packs and unpacks the copy in a bundle, and computes the revision. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../base/json/is-object.ts'
import { parseJson } from '../../base/json/parse-json.ts'
import { unpack } from '../archive.ts'
import { BUNDLE_LIMITS } from '../bundle.ts'

export interface Source {
  /** Relative to the folder of the policies, with `/`. */
  readonly path: string
  readonly content: Buffer
}

/** Hex digits of the revision; enough that two never meet, short enough for a log line. */
const REVISION_DIGITS = 32
const TEST_SUFFIX = '_test.rego'
export const DATA_FILES: readonly string[] = ['data.json', 'data.yaml', 'data.yml']

/** In a bundle: path → text of what it was built from, with the tests. Opa does not load a file of this name. */
export const SOURCES_FILE = 'sources.json'

/** Rego modules and data documents, sorted by path; tests, schemas and everything else stay outside. Links are not followed. */
export function readSources(dir: string): readonly Source[] {
  return readFiles(dir, isSource)
}

/** The tests of those modules. */
export function readTests(dir: string): readonly Source[] {
  return readFiles(dir, name => name.endsWith(TEST_SUFFIX))
}

/** The content of `SOURCES_FILE`. */
export function packedSources(sources: readonly Source[]): Buffer {
  const texts = sources.map(({ path, content }) => [path, content.toString('utf8')])
  return Buffer.from(`${JSON.stringify(Object.fromEntries(texts), undefined, 1)}\n`)
}

/** What a bundle was built from; undefined in a bundle that was built in another way. @throws Error when it is not a bundle */
export function sourcesIn(bundle: Uint8Array): Readonly<Record<string, string>> | undefined {
  const content = unpack(bundle, BUNDLE_LIMITS).get(SOURCES_FILE)
  const sources = content === undefined ? undefined : parseJson(content)
  if (!isObject(sources)) return undefined
  const texts = Object.entries(sources).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return Object.fromEntries(texts)
}

function readFiles(dir: string, isWanted: (name: string) => boolean): readonly Source[] {
  const sources: Source[] = []
  function walk(below: string): void {
    for (const entry of readdirSync(join(dir, below), { withFileTypes: true })) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`
      if (entry.name.startsWith('.')) continue
      if (entry.isDirectory()) walk(path)
      else if (entry.isFile() && isWanted(entry.name))
        sources.push({ path, content: readFileSync(join(dir, path)) })
    }
  }
  walk('')
  return sources.sort((a, b) => (a.path < b.path ? -1 : 1))
}

function isSource(name: string): boolean {
  // what `opa build -b` takes for data
  return name.endsWith('.rego') ? !name.endsWith(TEST_SUFFIX) : DATA_FILES.includes(name)
}

/** SHA-256 over paths and contents: same sources, same revision. */
export function revisionOf(sources: readonly Source[]): string {
  const hash = createHash('sha256')
  for (const { path, content } of sources) hash.update(`${path}\0${content.length}\0`).update(content)
  return hash.digest('hex').slice(0, REVISION_DIGITS)
}
