/** The corpus job: documents go through the real compiler, claims about their tools are checked and scored. A script and a test run it. */
import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createCompiler } from '../../src/catalog/sync/compiler.ts'
import type { CorpusDocument } from './corpus.ts'
import { corpusToolSet, faultsOf, roundTrips, STAND_IN, uncompilable } from './measure.ts'

export interface Score {
  documents: number
  ready: number
  operations: number
  tools: number
  schemasCompiled: number
  roundTrips: number
  roundTripsValid: number
  roundTripsUnjudged: number
  /** While documents were compiled, of the thread that serves; undefined when it also checked them. */
  maxLoopDelayMs: number | undefined
  /** Documents during whose compilation that thread was once held up longer. */
  loopDelaysOver50Ms: number
  seconds: number
  /** Why something is not perfect → how often, and one example. */
  reasons: Map<string, { count: number; example: string }>
}

export interface RunOptions {
  /** Every n-th operation is called; 0 = none. */
  readonly roundTripEvery: number
  readonly compileSchemas: boolean
  readonly onDocument?: (name: string, ms: number) => void
  /** Stops before the next document when it returns true: the score counts what was done. */
  readonly stop?: () => boolean
}

export function emptyScore(): Score {
  return {
    documents: 0,
    ready: 0,
    operations: 0,
    tools: 0,
    schemasCompiled: 0,
    roundTrips: 0,
    roundTripsValid: 0,
    roundTripsUnjudged: 0,
    maxLoopDelayMs: undefined,
    loopDelaysOver50Ms: 0,
    seconds: 0,
    reasons: new Map(),
  }
}

/** @param score counted on from here; it is changed */
export async function runCorpus(
  documents: readonly CorpusDocument[],
  options: RunOptions,
  score: Score = emptyScore(),
): Promise<Score> {
  const compiler = createCompiler()
  const started = performance.now()
  for (const document of documents) {
    if (options.stop?.() === true) break
    const before = performance.now()
    await runOne(document, score, options, compiler)
    options.onDocument?.(document.name, performance.now() - before)
  }
  await compiler.close()
  score.seconds += (performance.now() - started) / 1000
  return score
}

async function runOne(
  { name, path }: CorpusDocument,
  score: Score,
  options: RunOptions,
  compiler: ReturnType<typeof createCompiler>,
): Promise<void> {
  const bytes = readFileSync(path)
  score.documents++
  await new Promise(setImmediate)
  // The compiler transfers the bytes it is given.
  const document = new Uint8Array(bytes)
  const delay = monitorEventLoopDelay({ resolution: 2 })
  delay.enable()
  let outcome = await compiler.compile({ document, toolSet: corpusToolSet(), documentUrl: STAND_IN })
  delay.disable()
  // Beside checks it would be their garbage that is measured.
  const isAlone = !options.compileSchemas && options.roundTripEvery === 0
  if (isAlone) score.maxLoopDelayMs = Math.max(score.maxLoopDelayMs ?? 0, delay.max / 1e6)
  if (isAlone && delay.max > 50e6) {
    score.loopDelaysOver50Ms++
    note(score, 'event loop held up for over 50 ms', `${name} ${Math.round(delay.max / 1e6)} ms`)
  }
  if (outcome.kind === 'fault' && outcome.message.includes('set spec.baseURL')) {
    note(score, 'needed spec.baseURL', name)
    outcome = await compiler.compile({
      document: new Uint8Array(bytes),
      toolSet: { ...corpusToolSet(), baseURL: STAND_IN },
    })
  }
  if (outcome.kind !== 'compiled') {
    note(score, outcome.kind === 'fault' ? outcome.message : 'unchanged', name)
    return
  }
  const { result } = outcome
  score.ready++
  score.operations += result.selected
  score.tools += result.tools.length
  for (const { operation, reason } of result.skipped)
    note(score, `skipped: ${reason}`, `${name} ${operation}`)
  for (const fault of faultsOf(result.tools)) note(score, `fault: ${fault}`, name)
  if (options.compileSchemas) {
    const faults = uncompilable(result.tools)
    score.schemasCompiled += result.tools.length - faults.length
    for (const fault of faults) note(score, 'schema does not compile', `${name} ${fault}`)
  }
  if (options.roundTripEvery > 0) {
    const trips = roundTrips(JSON.parse(bytes.toString('utf8')), result.tools, options.roundTripEvery)
    score.roundTrips += trips.tried
    score.roundTripsValid += trips.valid
    score.roundTripsUnjudged += trips.unjudged
    for (const reason of trips.reasons) note(score, `round trip ${kindOf(reason)}`, `${name} ${reason}`)
  }
}

/** Reasons that differ in names only are one. */
function kindOf(reason: string): string {
  return reason
    .replace(/^.*?: /, '')
    .replace(/"[^"]*"|'[^']*'|\/\S+|\(.*\)|\d+/g, '…')
    .replace(/parameter \S+/, 'parameter …')
    .slice(0, 90)
}

function note(score: Score, reason: string, example: string): void {
  const known = score.reasons.get(reason)
  if (known === undefined) score.reasons.set(reason, { count: 1, example })
  else known.count++
}

export function scoreLines(score: Score): string[] {
  const share = (part: number, whole: number) => `${((100 * part) / Math.max(1, whole)).toFixed(2)} %`
  const judged = score.roundTrips - score.roundTripsUnjudged
  const lines = [
    `documents   ${score.ready} of ${score.documents} Ready (${share(score.ready, score.documents)})`,
    `operations  ${score.tools} of ${score.operations} became tools (${share(score.tools, score.operations)})`,
    `schemas     ${score.schemasCompiled} of ${score.tools} compile (${share(score.schemasCompiled, score.tools)})`,
    `round trips ${score.roundTripsValid} of ${score.roundTrips} valid (${share(score.roundTripsValid, score.roundTrips)}; ${share(score.roundTripsValid, judged)} of those the document's own schemas can judge)`,
    score.maxLoopDelayMs === undefined
      ? 'event loop  is measured without the checks: --no-schemas --round-trips 0'
      : `event loop  ${score.maxLoopDelayMs.toFixed(0)} ms at most, over 50 ms with ${score.loopDelaysOver50Ms} documents, while compiling`,
    `time        ${score.seconds.toFixed(0)} s`,
  ]
  const reasons = [...score.reasons].sort((a, b) => b[1].count - a[1].count).slice(0, 40)
  for (const [reason, { count, example }] of reasons)
    lines.push(`  ${count} × ${reason}   e.g. ${example.slice(0, 200)}`)
  return lines
}
