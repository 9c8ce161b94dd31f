/**
 * `npm run bench:compare -- REF`: the working tree against another commit, suites in turns (A B, B A, …) in fresh processes, Welch's test at
 * 95 %; or the instructions of a call. Nothing is claimed without significance. Exit code 1: a significant regression over the threshold, 2: it could not be compared, or the machine was not quiet.
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { grid } from '../grid.ts'
import { noisyText, Quietness } from '../quiet.ts'
import { shown } from '../units.ts'
import { loadRun, type Measurable, microSuites, type Sample } from './sample.ts'
import { type Compared, compared, type Pair } from './verdict.ts'
import { checkOut, npm, type Worktree } from './worktree.ts'

const HELP = `Usage: npm run bench:compare -- REF [options]

Compares the speed of the working tree with that of a git ref, in alternating runs, and fails when a case is significantly slower.

  REF               commit, tag or branch to compare with
  --filter TEXT     runs only the cases whose id contains TEXT: kernel/normalize, stages/; with --http, cases of the load run
  --http            compares the CPU time per call of the load run, in place of the suites (takes minutes); the bench of the working tree
                    measures both sides
  --instructions    compares the instructions that the gateway's main thread executes for one call of the load run, counted by the user mode of
                    QEMU (needs qemu-user and gcc): the same on a busy machine; what the system does for a call is not counted
  --repeats N       fresh processes for each suite and side (default: 6; with --http 3);
                    with --instructions windows of 2,000 calls in one process (default: 6)
  --time MS         duration of each case in each of the three rounds of a process (default: 40)
  --seconds S       with --http: duration of each case (default: 2)
  --threshold PART  a significant loss above this part is a regression (default: 0.05)
  --own-bench       measures REF with its own bench: for suites whose files have other paths there
  --json            writes one NDJSON line for each case to standard output
  --help            prints this help
`
const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '')
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    filter: { type: 'string', default: '' },
    http: { type: 'boolean', default: false },
    instructions: { type: 'boolean', default: false },
    repeats: { type: 'string' },
    time: { type: 'string', default: '40' },
    seconds: { type: 'string', default: '2' },
    threshold: { type: 'string', default: '0.05' },
    'own-bench': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const startedAt = performance.now()
const progress = (text: string): void =>
  void process.stderr.write(
    `${String(Math.round((performance.now() - startedAt) / 1000)).padStart(4)} s  ${text}\n`,
  )

async function main(): Promise<number> {
  const [ref] = positionals
  if (options.help || ref === undefined || positionals.length > 1) {
    console.log(HELP)
    return options.help ? 0 : 2
  }
  const repeats = Number(options.repeats ?? (options.http ? 3 : 6))
  if (!(repeats >= 2))
    throw new Error(`--repeats ${options.repeats}: two at least, one sample has no variance`)
  const chosen = options.instructions
    ? []
    : options.http
      ? [loadRun(options.filter, Number(options.seconds), options['own-bench'] ? undefined : ROOT)]
      : microSuites(ROOT, options.filter, Number(options.time))
  if (chosen.length === 0 && !options.instructions)
    throw new Error(`no suite can hold a case with ${JSON.stringify(options.filter)} in its id`)
  // suites run from sources, with the kernel built
  const script = options.http || options.instructions ? 'build' : 'build:kernel'
  progress('build the working tree')
  npm(ROOT, 'run', '--silent', script)
  let other: Worktree | undefined
  const cleanUp = (): void => {
    other?.remove()
    process.exit(130)
  }
  // before the checkout, which removes its folder when a signal ends npm: without a listener the signal would end this process too
  process.once('SIGINT', cleanUp).once('SIGTERM', cleanUp)
  other = checkOut(ROOT, ref, script, options['own-bench'], progress)
  const quietness = new Quietness()
  try {
    const results: Compared[] = []
    const judge = (pair: Pair): void => void results.push(compared(pair, Number(options.threshold)))
    if (options.instructions) for (const pair of await countBoth(other.folder, repeats)) judge(pair)
    let failed = 0
    for (const [at, one] of chosen.entries()) {
      progress(`[${at + 1}/${chosen.length}] ${one.name}`)
      try {
        for (const pair of await inTurns(one, other.folder, repeats)) judge(pair)
      } catch (error) {
        failed++
        console.error(`${one.name} cannot be compared: ${(error as Error).message}`)
      }
    }
    const noisy = options.instructions ? undefined : noisyText(quietness.othersShare())
    const judged = noisy === undefined ? results : results.map(withoutClaim)
    print(judged, other.commit)
    if (noisy !== undefined) {
      console.error(noisy)
      return 2
    }
    if (results.some(({ regression }) => regression)) return 1
    return failed > 0 || results.length === 0 ? 2 : 0
  } finally {
    other.remove()
  }
}

/** A B, then B A: neither side is always the one behind the other. */
async function inTurns(one: Measurable, other: string, repeats: number): Promise<Pair[]> {
  const before = new Map<string, Sample[]>()
  const after = new Map<string, Sample[]>()
  const take = async (tree: string, into: Map<string, Sample[]>): Promise<void> => {
    for (const sample of await one.sample(tree)) into.set(sample.id, [...(into.get(sample.id) ?? []), sample])
  }
  for (let repeat = 0; repeat < repeats; repeat++) {
    progress(`${one.name}: repeat ${repeat + 1} of ${repeats}`)
    for (const second of [false, true])
      if (second === (repeat % 2 === 0)) await take(ROOT, after)
      else await take(other, before)
  }
  return [...after].flatMap(([id, samples]) => {
    const others = before.get(id)
    if (others === undefined) return []
    const { unit, better } = samples[0]!
    return { id, unit, better, before: values(others), after: values(samples) }
  })
}

async function countBoth(other: string, windows: number): Promise<Pair[]> {
  // it ends this process at a signal, which would leave the worktree: our listener, which removes it, has to come first
  const { measureInstructions } = await import('./instructions.ts')
  const measured = await measureInstructions({
    trees: [other, ROOT],
    filter: options.filter,
    windows,
    progress,
  })
  return [...measured].map(([id, costs]) => ({
    id: `http/load/${id} instructions`,
    unit: '',
    better: 'lower',
    before: costs.map(([before]) => before!),
    after: costs.map(([, after]) => after!),
  }))
}

const withoutClaim = (result: Compared): Compared => ({ ...result, claim: 'no claim', regression: false })

const values = (samples: readonly Sample[]): number[] => samples.map(({ value }) => value)

function print(results: readonly Compared[], commit: string): void {
  if (options.json) {
    for (const result of results) console.log(JSON.stringify({ of: commit, ...result }))
    return
  }
  const rows = results.map(({ id, unit, beforeMedian, afterMedian, ratio, low, high, claim, regression }) => [
    id,
    shown(beforeMedian, unit),
    shown(afterMedian, unit),
    ratio.toFixed(3),
    `${low.toFixed(3)}–${high.toFixed(3)}`,
    regression ? 'SLOWER' : claim,
  ])
  console.log(
    `\n“now” is the working tree. ratio: now in parts of ${commit}, with its 95 % confidence interval (Welch’s test);\n“no claim”: the interval holds 1. SLOWER: a loss over ${(Number(options.threshold) * 100).toFixed(0)} %, which fails this run.\n`,
  )
  console.log(grid(['case', commit, 'now', 'ratio', '95 %', 'verdict'], rows, [1, 2, 3]))
}

try {
  // the backend of the counted calls listens on
  process.exit(await main())
} catch (error) {
  console.error((error as Error).message)
  process.exit(2)
}
