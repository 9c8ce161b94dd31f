/** 60 documents of the corpus, split into files: they become the same tools as before the split. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { inspectFile } from '../../src/catalog/inspect/inspect-file.ts'
import { createEgress } from '../../src/net/egress/client.ts'
import { CORPUS_INSTALLED, type CorpusDocument, sampleDocuments } from './corpus.ts'
import { PARTS, splitDocument } from './split-document.ts'

const DOCUMENTS = 60
/** Larger documents would take the time that YAML takes, and show nothing else. */
const MAX_BYTES = 60_000
const SEED = 20_260_101

const directory = mkdtempSync(join(tmpdir(), 'multi-file-'))
afterAll(() => rmSync(directory, { recursive: true }))

const egress = createEgress({ allow: [], allowLoopback: false })
afterAll(() => egress.close())
const options = { apiGroup: 'toolgate.dev', variables: {}, egress }
const required = process.env.REQUIRE_SERVICES === '1'

function write(folder: string, files: ReadonlyMap<string, string>): void {
  for (const [name, text] of files) {
    mkdirSync(dirname(join(directory, folder, name)), { recursive: true })
    writeFileSync(join(directory, folder, name), text)
  }
}

function isDivisible({ path, bytes }: CorpusDocument): boolean {
  if (bytes > MAX_BYTES) return false
  const { paths = {}, components, definitions } = JSON.parse(readFileSync(path, 'utf8'))
  return Object.keys(paths).length > 1 && Object.keys(components?.schemas ?? definitions ?? {}).length > 1
}

describe.skipIf(!CORPUS_INSTALLED && !required)('documents of several files', () => {
  const chosen = CORPUS_INSTALLED ? sampleDocuments().filter(isDivisible) : []
  const cases = chosen.slice(0, DOCUMENTS).map((document, i) => ({ ...document, i, parts: PARTS[i % 3]! }))

  it('are sixty', () => expect(cases.length).toBe(DOCUMENTS))

  it.each(cases)('$name split by $parts', async ({ path, i, parts }) => {
    const document = JSON.parse(readFileSync(path, 'utf8'))
    const split = splitDocument(document, parts, SEED + i)
    write(`${i}/whole`, new Map([['openapi.json', JSON.stringify(document)]]))
    write(`${i}/split`, split.files)
    const [whole] = await inspectFile(join(directory, `${i}/whole/openapi.json`), options)
    const [joined] = await inspectFile(join(directory, `${i}/split/${split.root}`), options)
    expect(joined!.result.skipped, split.description).toEqual(whole!.result.skipped)
    expect(joined!.result.tools, split.description).toEqual(whole!.result.tools)
    expect(joined!.result.unresolved, split.description).toEqual(
      whole!.result.unresolved.map(() => expect.anything()),
    )
    expect(joined!.result.tools.length).toBeGreaterThan(1)
    expect(split.files.size).toBeGreaterThan(1)
  })
})
