/**
 * The result format: one NDJSON line for each case and metric, whole by itself, and the only writer of such lines. `bench/results/` is where the lines go; `bench/report/` and `bench/compare/` read them.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Pace } from './pace.ts'
import { type Place, place } from './place.ts'
import { Quietness } from './quiet.ts'
import { ratioSpread, type Spread, spread } from './statistics.ts'
import { readTargets, type Target, targetOf } from './targets.ts'

/** What a measured thing is compared with, in the same run. */
export interface ReferenceRatio extends Spread {
  /** `suite/case` of the reference; its line is in the same run with the same metric. */
  readonly case: string
}

/** One line. Its ratios hold within its run only; readers must ignore fields they do not know. */
export interface ResultLine extends Place {
  /** For this format. */
  readonly format: 1
  /** The same in all lines of one run. */
  readonly run: string
  /** When the run began, RFC 3339. */
  readonly at: string
  /** Path of the suite below bench/, without its ending: `kernel/normalize`, `http/load`. */
  readonly suite: string
  /** Lower case, parts divided by `/`: `clean/wasm`, `toolgate/tools-call`. */
  readonly case: string
  /** What was measured: `time`, `cpu` (CPU time of the server for one call), `throughput`, `per-core` (calls for a second of CPU), `latency`, `memory`, … */
  readonly metric: string
  /** `ns`, `µs`, `ms`, `s`, `calls/s`, `calls/CPU-s`, `MiB`, `KiB`, `×`, … */
  readonly unit: string
  readonly better: 'lower' | 'higher'
  /** One figure for each repeat, in the order measured; a repeat's figure is its own median (or its mean, of a rate). */
  readonly samples: readonly number[]
  /** For the samples. */
  readonly median: number
  readonly min: number
  readonly max: number
  /** For latencies: percentile → value in `unit`, medians of the repeats. Keys as `50`, `99`, `99.9`. */
  readonly percentiles?: Readonly<Record<string, number>>
  readonly reference?: ReferenceRatio
  /** The case that it is compared with, which the run has not measured yet. */
  readonly awaits?: string
  /** False: it was measured before the cost of a call was steady; absent: it is not measured under load, or has another warm-up. */
  readonly warm?: boolean
  /** The run that wrote it has not measured everything yet: it was stopped, or goes on. */
  readonly partial?: true
  /** Row of `targets.json` that this line fills; the writer finds it by case and metric. */
  readonly target?: string
  /** Share of the processors that other programs used during the run so far; absent where that is unknown. */
  readonly others?: number
  /** Share of the looks so far at which the processors were slow; absent where none looked. */
  readonly slow?: number
  /** For a run that did not measure everything. */
  readonly filter?: string
  /** How it was run, when that matters: `{connections: 8, loop: 'open'}`. */
  readonly setup?: Readonly<Record<string, string | number | boolean>>
}

/** What a run knows of one case; the writer adds the rest. */
export type Measured = Pick<
  ResultLine,
  'suite' | 'case' | 'metric' | 'unit' | 'better' | 'samples' | 'percentiles' | 'warm' | 'target' | 'setup'
> & {
  /** The case it is compared with: `suite/case`, and its samples of the same metric, taken in turns with these; none yet: `[]`. */
  readonly reference?: { readonly case: string; readonly samples: readonly number[] } | undefined
}

export interface ResultWriter {
  /** Where the lines go. */
  readonly file: string
  /** See `Quietness`. */
  othersShare(): number | undefined
  /** Appends a line. It says `partial` and replaces an earlier one of its name in this run. */
  write(measured: Measured): ResultLine
  /** The run has measured everything: of its lines in the file the last of each name remain, and are no longer partial. @returns these */
  complete(): readonly ResultLine[]
}

const RESULTS = fileURLToPath(new URL('results/', import.meta.url))

/**
 * Begins a run.
 * @param kind first part of the file's name, as `micro` or `http`
 * @param out the file to append to; a new one in `bench/results/` when absent
 * @param filter of a run that does not measure everything: its lines do not replace those of a whole run in the report
 */
export function openResults(
  kind: string,
  out?: string,
  filter = '',
  quietness: Pick<Quietness, 'othersShare'> = new Quietness(),
  pace?: Pick<Pace, 'slowShare'>,
): ResultWriter {
  const at = new Date().toISOString()
  const run = `${kind}-${at.replace(/[:.]/g, '')}-${process.pid}`
  const file = out ?? join(RESULTS, `${run}.ndjson`)
  const here = place()
  const targets = readTargets()
  const last = new Map<string, ResultLine>()
  mkdirSync(dirname(file), { recursive: true })
  return {
    file,
    othersShare: () => quietness.othersShare(),
    write(measured) {
      const others = quietness.othersShare()
      const slow = pace?.slowShare()
      const line = {
        ...lineOf(measured, { run, at }, targets),
        ...(others === undefined ? {} : { others: rounded(others) }),
        ...(slow === undefined ? {} : { slow: rounded(slow) }),
        ...(filter === '' ? {} : { filter }),
        ...here,
      }
      last.set(`${line.suite}/${line.case} ${line.metric}`, line)
      const written: ResultLine = { ...line, partial: true }
      appendFileSync(file, `${JSON.stringify(written)}\n`)
      return written
    },
    complete() {
      const lines = [...last.values()]
      if (lines.length > 0) replaceLines(file, run, lines)
      return lines
    },
  }
}

/** In one step, so that a run which is killed meanwhile leaves the old file or the new one. */
function replaceLines(file: string, run: string, lines: readonly ResultLine[]): void {
  const others = existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter(text => text !== '' && !text.includes(`"run":${JSON.stringify(run)}`))
    : []
  const written = `${file}.${process.pid}`
  writeFileSync(written, [...others, ...lines.map(line => JSON.stringify(line)), ''].join('\n'))
  renameSync(written, file)
}

function lineOf(
  { reference, ...measured }: Measured,
  run: Pick<ResultLine, 'run' | 'at'>,
  targets: readonly Target[],
): Omit<ResultLine, keyof Place> {
  const target =
    measured.target ?? targetOf(targets, `${measured.suite}/${measured.case}`, measured.metric)?.id
  const awaits = reference?.samples.length === 0 ? reference.case : undefined
  const ratio =
    reference && awaits === undefined ? ratioSpread(measured.samples, reference.samples) : undefined
  return {
    format: 1,
    ...run,
    ...measured,
    samples: measured.samples.map(rounded),
    ...figuresOf(spread(measured.samples)),
    ...(target === undefined ? {} : { target }),
    // a clock too coarse for the reference makes no ratio
    ...(ratio === undefined || !Number.isFinite(ratio.max)
      ? {}
      : { reference: { case: reference!.case, ...figuresOf(ratio) } }),
    ...(awaits === undefined ? {} : { awaits }),
  }
}

const figuresOf = ({ median, min, max }: Spread): Spread => ({
  median: rounded(median),
  min: rounded(min),
  max: rounded(max),
})

/** Five digits: more than any clock here can report. */
const rounded = (value: number): number => Number(value.toPrecision(5))
