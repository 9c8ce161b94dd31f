/** What a bench file default-exports, and what is measured of it. It measures nothing: `measure.ts` does, and `suite-process.ts` finds the files. */

/** One row of the table. */
export interface BenchCase {
  /** Lower case, parts divided by `/`, its variant last: `clean/wasm`. `budgets.json` names it behind the suite's id. */
  readonly id: string
  /** Operations that one `run` makes; times are shown per operation. Short ones need many, the clock being 40 ns wide. */
  readonly perRun: number
  /** Id of the case of this suite that it is compared with: the ratio column. Absent, see `Suite.reference`. */
  readonly of?: string
  /** Not timed, before each run: fresh inputs, as a request brings them. */
  prepare?(): void
  /** Timed. Checks its own results and throws on a wrong one: a fast wrong response is not a figure. */
  run(): void | Promise<void>
}

export interface Suite {
  /** Path of the file below bench/, without its ending: `kernel/normalize`. */
  readonly id: string
  /** One line above the table: what is measured, on what input. */
  readonly title: string
  /**
   * Last part of the ids of references: with `best-js`, `clean/wasm` is compared with `clean/best-js`. Where there is no such case, the
   * first ratio in `budgets.json` names the reference.
   */
  readonly reference?: string
  /** Called once, in its own process. */
  cases(): readonly BenchCase[] | Promise<readonly BenchCase[]>
  /** What is not a time per operation, such as memory; asked for after `cases`, before any is timed. */
  facts?(): readonly Fact[]
}

/** What is not a time per operation; one line below the table. */
export interface Fact {
  /** Behind the suite's id, like a case's. */
  readonly id: string
  readonly value: number
  /** `MiB`, `ms`, …; less is better. */
  readonly unit: string
  /** For people, behind the figure. */
  readonly note?: string
}

/** What was measured of one case: nanoseconds per operation. */
export interface Figures {
  /** Suite and case: `kernel/normalize/clean/wasm`. */
  readonly id: string
  /** Median of each round, in the order measured. The cases of a suite take turns, so the rounds of two cases are neighbours. */
  readonly roundsNs: readonly number[]
  /** For the rounds' medians. */
  readonly medianNs: number
  /** Median of the rounds' 99th percentiles (of runs, each the mean of its operations). */
  readonly p99Ns: number
  /** Timed runs of all rounds. */
  readonly runs: number
  /** Full id of the case it is compared with. */
  readonly of?: string
}
