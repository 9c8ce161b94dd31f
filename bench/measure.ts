/** Runs one bench file in this process and prints its figures, one JSON line per case. Started by `run.ts`; it judges nothing. */
import { pathToFileURL } from 'node:url'
import { Bench, type Task } from 'tinybench'
import type { BenchCase, Fact, Figures, Suite } from './suite.ts'

interface Round {
  readonly medianNs: number
  readonly p99Ns: number
  readonly samples: number
}

/**
 * Cases take turns, `rounds` times: what disturbs the machine for a while disturbs all of them.
 * @param filter only cases whose full id contains it.
 */
export async function measure(
  suite: Suite,
  options: { readonly timeMs: number; readonly rounds: number; readonly filter: string },
): Promise<(Figures | Fact)[]> {
  const cases = (await suite.cases()).filter(one => `${suite.id}/${one.id}`.includes(options.filter))
  const facts = cases.length === 0 ? [] : (suite.facts?.() ?? [])
  const rounds = new Map<BenchCase, Round[]>(cases.map(one => [one, []]))
  for (let round = 0; round <= options.rounds; round++)
    for (const one of cases) {
      const bench = new Bench({ time: options.timeMs, warmup: round === 0, iterations: 16, throws: true })
      const { prepare } = one
      bench.add(one.id, () => one.run(), prepare === undefined ? {} : { beforeEach: () => prepare.call(one) })
      const [task] = await bench.run()
      // The first round warms up: by its end every case has run with the others' types seen.
      if (round > 0) rounds.get(one)!.push(roundOf(task!, one.perRun))
    }
  return [
    ...cases.map(one => figures(`${suite.id}/${one.id}`, rounds.get(one)!)),
    ...facts.map(fact => ({ ...fact, id: `${suite.id}/${fact.id}` })),
  ]
}

function roundOf(task: Task, perRun: number): Round {
  const { result } = task
  if (!('latency' in result)) throw new Error(`${task.name} was not measured: ${result.state}`)
  const { p50, p99, samplesCount } = result.latency
  return { medianNs: (p50 * 1e6) / perRun, p99Ns: (p99 * 1e6) / perRun, samples: samplesCount }
}

function figures(id: string, rounds: readonly Round[]): Figures {
  const medians = rounds.map(round => round.medianNs).sort((a, b) => a - b)
  const p99s = rounds.map(round => round.p99Ns).sort((a, b) => a - b)
  const middle = medians.length >> 1
  return {
    id,
    medianNs: medians[middle]!,
    p99Ns: p99s[middle]!,
    minNs: medians[0]!,
    maxNs: medians.at(-1)!,
    samples: rounds.reduce((sum, round) => sum + round.samples, 0),
  }
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
