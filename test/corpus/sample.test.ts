/** A pinned sample of 200 real documents, and examples of @readme/oas-examples: operations become tools with valid schemas, nearly all calls fit. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCompileJob } from '../../src/catalog/sync/compile-job.ts'
import { sized } from '../fixtures/check.ts'
import { CORPUS_INSTALLED, sampleDocuments } from './corpus.ts'
import { corpusToolSet, faultsOf, roundTrips, STAND_IN, toolsOf, uncompilable } from './measure.ts'
import { runCorpus, scoreLines } from './run.ts'

const EXAMPLES = dirname(createRequire(import.meta.url).resolve('@readme/oas-examples/package.json'))

describe.each(['2.0', '3.0', '3.1'])('examples of OpenAPI %s', version => {
  const folder = join(EXAMPLES, version, 'json')
  const files = existsSync(folder) ? readdirSync(folder).filter(name => name.endsWith('.json')) : []

  it.each(files)('%s becomes tools', file => {
    const text = readFileSync(join(folder, file), 'utf8')
    const outcome = runCompileJob({ document: text, toolSet: { ...corpusToolSet(), baseURL: STAND_IN } })
    if (outcome.kind !== 'compiled') throw new Error(JSON.stringify(outcome))
    expect(outcome.result.skipped).toEqual([])
    const tools = toolsOf(outcome)
    expect(faultsOf(tools)).toEqual([])
    expect(uncompilable(tools)).toEqual([])
    if (version !== '2.0') {
      const { reasons } = roundTrips(JSON.parse(text), tools, 1)
      expect(reasons.filter(reason => reason.includes(': invalid: '))).toEqual([])
    }
  })
})

const required = process.env.REQUIRE_SERVICES === '1'
/** Every fourth, or all 200 in the long check. */
const documents = !CORPUS_INSTALLED ? [] : sampleDocuments().filter((_, at) => at % sized(4, 1) === 0)

describe.skipIf(!CORPUS_INSTALLED && !required)(
  `${documents.length} documents (bring them: node scripts/corpus.mjs --install)`,
  () => {
    it('are all Ready, and at least 98 % of the calls validate against the document', {
      timeout: 240_000,
    }, async () => {
      const score = await runCorpus(documents, { roundTripEvery: 4, compileSchemas: true })
      const report = scoreLines(score).join('\n')
      expect(score.ready, report).toBe(documents.length)
      expect(score.tools, report).toBe(score.operations)
      expect(score.schemasCompiled, report).toBe(score.tools)
      expect(score.roundTripsValid / score.roundTrips, report).toBeGreaterThanOrEqual(0.98)
    })
  },
)
