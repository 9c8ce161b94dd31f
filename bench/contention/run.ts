/**
 * `npm run bench:contention`: what 1 to 16 threads cost each other, by simulation of the cache lines that real calls touch, of requests to the
 * main thread, of fdatasync and of the spread of connections; and how well the first agrees with one and two real threads. It writes no
 * result lines: simulated figures are not measured ones.
 */
import { parseArgs } from 'node:util'
import { noisyText, Quietness } from '../quiet.ts'
import { sessionAsks, simulateAsks } from './asks.ts'
import { COSTS } from './caches.ts'
import { traceOwnKernel } from './calls.ts'
import { measureAsks } from './measure-asks.ts'
import {
  ASSUMPTIONS,
  type AskRow,
  askTable,
  type SimulatedRow,
  simulationTable,
  spreadTable,
  syncTable,
  THREADS,
  validationTable,
} from './report.ts'
import { LOCK_TIMES, type SimulationOptions, simulate } from './simulate.ts'
import { validate } from './validate.ts'
import { callsFor, traceOf, WORKLOADS } from './workloads.ts'

const HELP = `npm run bench:contention -- [options]

  --calls N        calls of a thread in each simulation (2000)
  --seed N         of the simulation (1)
  --no-measure     simulate only
`

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    'no-measure': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const [callsPerThread, seed] = [Number(values.calls), Number(values.seed)]
if (values.help) {
  print(HELP)
  process.exit(0)
}
if (!Number.isInteger(callsPerThread) || callsPerThread < 20 || !Number.isInteger(seed)) {
  console.error('--calls is an integer of at least 20, and --seed an integer')
  process.exit(64)
}
const quietness = new Quietness()

const shared = traceOf(0.0625).take.filter(({ field }) => !field.isPrivate)
print(
  `Lines of shared memory that taking units touches (one call, real store, kernel instrumented): ${lines(shared.map(({ address }) => address))}`,
)
print(
  `Lines of the path, the route and the envelope, in a memory of each thread: ${lines(traceOwnKernel().map(({ address }) => address))}`,
)
print(`\n${ASSUMPTIONS}\n`)

const simulated = (
  workloads: typeof WORKLOADS,
  privateUs: number,
  threads: readonly number[],
  options: Partial<SimulationOptions> = {},
): SimulatedRow[] =>
  workloads.flatMap(workload =>
    threads.map(count => ({
      workload: workload.title,
      privateUs,
      threads: count,
      result: simulate(callsFor(workload, count, privateUs, seed), {
        threads: count,
        callsPerThread: callsPerThread + warmUp(workload.consumers, count),
        warmUpCalls: warmUp(workload.consumers, count),
        ...options,
      }),
    })),
  )
for (const privateUs of [60, 10]) print(`${simulationTable(simulated(WORKLOADS, privateUs, THREADS))}\n`)

print('The same with other assumptions, 16 threads, 60 µs:')
const cases: readonly (readonly [string, Partial<SimulationOptions>])[] = [
  ...[25, 60, 100].map(
    transferNs => [`transfer ${transferNs} ns`, { costs: { ...COSTS, transferNs } }] as const,
  ),
  ['lines fetched in pairs (128 bytes)', { lineBytes: 128 }],
  ...[4, 16, 64].map(
    times =>
      [
        `${times} times as many attempts at a lock`,
        { lockTimes: { ...LOCK_TIMES, spinNs: LOCK_TIMES.spinNs * times } },
      ] as const,
  ),
]
print(
  `${simulationTable(
    cases.flatMap(([title, options]) =>
      simulated(WORKLOADS.slice(0, 2), 60, [16], options).map(row => ({
        ...row,
        workload: `${row.workload}, ${title}`,
      })),
    ),
  )}\n`,
)

if (!values['no-measure']) {
  print(
    'Requests of sessions and streams to the main thread (60 µs a call; a session is known to a thread for 1 s; a stream asks once):',
  )
  const [session, stream] = [await measureAsks('session'), await measureAsks('stream')]
  const many = THREADS.slice(1)
  const ask = { privateUs: 60, pending: 64, seed }
  const rows: AskRow[] = [
    ...(
      [
        [1_000, false],
        [10_000, false],
        [10_000, true],
      ] as const
    ).flatMap(([sessions, sticky]) =>
      many.map(threads => ({
        what: `${sessions} sessions, ${sticky ? 'each on one thread' : 'each on all threads'}`,
        threads,
        result: simulateAsks({
          ...ask,
          ...session,
          threads,
          durationMs: 3_000,
          asks: sessionAsks(sessions, threads, sticky),
        }),
      })),
    ),
    ...many.map(threads => ({
      what: 'opening streams',
      threads,
      result: simulateAsks({ ...ask, ...stream, threads, durationMs: 300, asks: () => true }),
    })),
  ]
  print(`${askTable(rows, { session, stream })}\n`)
}
print(
  'Metering: each thread has a spool, and shares the 4 threads of libuv for fdatasync. An event is on disk after at most (promised: 5 ms):',
)
print(`${syncTable([0.2, 1, 3])}\n`)
print(
  'Connections of the busiest thread in parts of the mean (SO_REUSEPORT chooses by a hash of the addresses):',
)
print(`${spreadTable([16, 64, 400, 4_000])}\n`)
if (!values['no-measure']) {
  print(
    'Real threads that only take units and tokens, 1.3 µs apart, beside the simulation with the fitted and the assumed transfer cost:',
  )
  print(validationTable(await validate()))
}
const noisy = noisyText(quietness.othersShare())
if (noisy !== undefined) print(`\n${noisy}`)

/** Nearly all of up to 1,000 consumers have been served by then; more do not stay in the caches. */
function warmUp(consumers: number, threads: number): number {
  return 200 + Math.ceil((4 * Math.min(consumers, 1_000)) / threads)
}

function lines(addresses: readonly number[]): string {
  return `${new Set(addresses.map(address => Math.floor(address / 64))).size} lines, ${addresses.length} accesses`
}

function print(text: string): void {
  console.log(text)
}
