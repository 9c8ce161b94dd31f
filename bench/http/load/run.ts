/**
 * `npm run bench:http`: the built gateway under load beside bare servers and peers, in turns, server and load each pinned to a processor
 * except in `start` and `workers`. Parts: load (closed loop), latency (open loop), streams, start, workers, ladder. Cost is CPU time per call
 * from the kernel's accounting: the load generator's own limit does not show in it.
 */
import { parseArgs } from 'node:util'
import { grid } from '../../grid.ts'
import { Pace, slowText } from '../../pace.ts'
import { noisyText } from '../../quiet.ts'
import { openResults } from '../../record.ts'
import { measureLadder } from '../ladder/measure.ts'
import { startBackend } from './backend.ts'
import { startCases } from './cases.ts'
import { pinLoad } from './child.ts'
import { measureLoad } from './closed.ts'
import { durationText, timesOf } from './duration.ts'
import { measureStart } from './footprint.ts'
import { measureLatency } from './latency.ts'
import type { Part } from './part.ts'
import { elsewhere } from './quietly.ts'
import { measureStreams } from './streams.ts'
import { measureBuildIn } from './toolgate.ts'
import { measureWorkers } from './workers.ts'

/** All of them. */
const PARTS = 'load,latency,streams,start,workers,ladder'

const HELP = `Usage: npm run bench:http -- [options]

Measures throughput, latency, processor time per call, start and memory of the built gateway, beside other servers in the same run.

  --quick            3 rounds of 1 s
  --parts NAMES      comma-separated list of load, latency, streams, start, workers, ladder (default: all)
  --filter TEXT      runs only the cases of load, workers and ladder whose name contains TEXT, and the cases that they are compared with
  --rounds N         number of rounds; each round runs every case once (default: 5)
  --seconds S        duration of each case in each round (default: 4); 30 gives the steadiest results. The warm-up before the rounds is not
                     in it: each case runs until the CPU time of a call is steady, at most 30 s
  --connections N    number of connections of the load (default: 8)
  --workers N        number of gateway threads in the parts load and latency (default: 1)
  --gateway FOLDER   working tree whose built gateway is measured (default: this one)
  --out FILE         file for the results as NDJSON (default: a new file in bench/results/)
  --json             also writes the results to standard output, in place of tables
  --help             prints this help

The run announces how long it takes. Each figure is printed, and written to the file, as soon as it is measured: a run that is stopped keeps
them, and their lines say "partial".

Exit code 0: the run is complete. 1: the run failed or was stopped.
`
const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    parts: { type: 'string', default: PARTS },
    filter: { type: 'string', default: '' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    connections: { type: 'string', default: '8' },
    workers: { type: 'string', default: '1' },
    gateway: { type: 'string' },
    out: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

function filterOf(): string {
  return options.parts === PARTS ? options.filter : `${options.parts} ${options.filter}`.trim()
}

async function main(): Promise<number> {
  const startedAt = performance.now()
  if (options.gateway !== undefined) measureBuildIn(options.gateway)
  const pace = new Pace()
  let written = 0
  const results = openResults('http', options.out, filterOf(), undefined, pace)
  const part: Part = {
    pinned: pinLoad(),
    backend: startBackend(),
    rounds: Number(options.rounds ?? (options.quick ? 3 : 5)),
    seconds: Number(options.seconds ?? (options.quick ? 1 : 4)),
    connections: Number(options.connections),
    workers: Number(options.workers),
    filter: options.filter,
    // called between measurements
    progress(text) {
      pace.look()
      const secs = String(Math.round((performance.now() - startedAt) / 1000))
      process.stderr.write(`${secs.padStart(4)} s  ${text}\n`)
    },
    write(measured) {
      written++
      return results.write(measured)
    },
    show(heading, head, rows, right) {
      if (!options.json) console.log(`\n${heading}\n\n${grid(head, rows, right)}\n`)
    },
  }
  // of a signal, and of a fault
  const sayPartial = (): void => {
    if (written > 0)
      process.stderr.write(
        `The run did not end: what it measured is in ${results.file}, in lines that say "partial": true.\n`,
      )
  }
  process.once('exit', sayPartial)
  if (!part.pinned) part.progress('one processor, or no taskset: nothing is pinned')
  await measure(part, options.parts.split(','))
  process.off('exit', sayPartial)
  const lines = results.complete()
  if (options.json) for (const line of lines) console.log(JSON.stringify(line))
  const noisy = noisyText(results.othersShare())
  if (noisy !== undefined) part.progress(noisy)
  const slow = slowText(pace.slowShare())
  if (slow !== undefined) part.progress(slow)
  part.progress(`results: ${results.file}`)
  return 0
}

async function measure(part: Part, parts: readonly string[]): Promise<void> {
  const cases =
    parts.includes('load') || parts.includes('latency')
      ? await startCases(part.backend, part.workers, part.progress)
      : undefined
  part.progress(durationText(timesOf(part, parts, cases)))
  if (cases !== undefined)
    try {
      const known = parts.includes('load') ? await measureLoad(part, cases) : { perSecond: new Map() }
      if (parts.includes('latency')) await measureLatency(part, cases, known.perSecond)
    } finally {
      await cases.stop()
    }
  if (parts.includes('streams')) await measureStreams(part)
  if (parts.includes('start')) await measureStart(part)
  if (parts.includes('workers')) await measureWorkers(part)
  if (parts.includes('ladder')) await measureLadder(part)
}

if (options.help) console.log(HELP)
// the backend listens on
else process.exit(await (elsewhere() ?? main()))
