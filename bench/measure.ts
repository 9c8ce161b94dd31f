/** Runs one bench file in this process and prints JSON lines: the suite, its figures and its facts. Started by `suite-process.ts`; it judges nothing. */
import { pathToFileURL } from 'node:url'
import { Bench, type Task } from 'tinybench'
import { spread } from './statistics.ts'
import type { BenchCase, Fact, Figures, Suite } from './suite.ts'

interface Round {
  readonly medianNs: number
  readonly p99Ns: number
  readonly runs: number
}

/**
 * Cases take turns, `rounds` times: what disturbs the machine for a while disturbs all of them.
 * @param filter only cases whose full id contains it, or one of several with commas between.
 */
export async function measure(
  suite: Suite,
  options: { readonly timeMs: number; readonly rounds: number; readonly filter: string },
): Promise<(Figures | Fact)[]> {
  const cases = (await suite.cases()).filter(one =>
    options.filter.split(',').some(part => `${suite.id}/${one.id}`.includes(part)),
  )
  const facts = cases.length === 0 ? [] : (suite.facts?.() ?? [])
  const rounds = new Map<BenchCase, Round[]>(cases.map(one => [one, []]))
  for (let round = 0; round <= options.rounds; round++)
    for (const one of cases) {
      const task = await timed(one, options.timeMs)
      // The first round warms up: by its end every case has run with the others' types seen.
      if (round > 0) rounds.get(one)!.push(roundOf(task, one.perRun))
    }
  return [
    ...cases.map(one => ({
      ...figures(`${suite.id}/${one.id}`, rounds.get(one)!),
      ...referenceOf(suite, one, cases),
    })),
    ...facts.map(fact => ({ ...fact, id: `${suite.id}/${fact.id}` })),
  ]
}

/** Preparation is not timed, but takes time: a round ends when it has taken this many times `timeMs`, preparation included. */
const PREPARING = 3
/** Runs that a round has at least, however long they take. */
const LEAST_RUNS = 16

async function timed(one: BenchCase, timeMs: number): Promise<Task> {
  const enough = new AbortController()
  const bench = new Bench({
    time: timeMs,
    warmup: false,
    iterations: LEAST_RUNS,
    throws: true,
    signal: enough.signal,
  })
  const endsAt = performance.now() + timeMs * PREPARING
  let runs = 0
  const beforeEach = (): void => {
    one.prepare?.()
    if (++runs > LEAST_RUNS && performance.now() > endsAt) enough.abort()
  }
  bench.add(one.id, () => one.run(), one.prepare === undefined ? {} : { beforeEach })
  const [task] = await bench.run()
  return task!
}

function roundOf(task: Task, perRun: number): Round {
  const { result } = task
  if (!('latency' in result)) throw new Error(`${task.name} was not measured: ${result.state}`)
  const { p50, p99, samplesCount } = result.latency
  return { medianNs: (p50 * 1e6) / perRun, p99Ns: (p99 * 1e6) / perRun, runs: samplesCount }
}

function figures(id: string, rounds: readonly Round[]): Figures {
  const roundsNs = rounds.map(round => round.medianNs)
  return {
    id,
    roundsNs,
    medianNs: spread(roundsNs).median,
    p99Ns: spread(rounds.map(round => round.p99Ns)).median,
    runs: rounds.reduce((sum, round) => sum + round.runs, 0),
  }
}

function referenceOf(suite: Suite, one: BenchCase, all: readonly BenchCase[]): Pick<Figures, 'of'> {
  const of = one.of ?? (suite.reference && one.id.replace(/[^/]+$/, suite.reference))
  return of !== undefined && of !== one.id && all.some(({ id }) => id === of)
    ? { of: `${suite.id}/${of}` }
    : {}
}

async function main([file, timeMs, rounds, filter]: string[]): Promise<void> {
  const { default: suite } = (await import(pathToFileURL(file!).href)) as { default?: Suite }
  if (typeof suite?.cases !== 'function')
    throw new Error(`${file} has no default export of type Suite (bench/suite.ts)`)
  console.log(JSON.stringify({ suite: suite.id, title: suite.title }))
  const options = { timeMs: Number(timeMs), rounds: Number(rounds), filter: filter ?? '' }
  for (const row of await measure(suite, options)) console.log(JSON.stringify(row))
}

if (process.argv[1] === import.meta.filename) {
  await main(process.argv.slice(2))
  // A suite may have left a server or a pool open.
  process.exit()
}
