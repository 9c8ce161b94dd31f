/** A histogram with one label: counts, sums and examples of values. */

/** The call that a value is an example of. */
export interface TracedValue {
  readonly traceId: string
  /** Unix ms. */
  readonly receivedAtMs: number
}

export interface Exemplar extends TracedValue {
  readonly value: number
}

/** The values of one set of labels. */
export class HistogramSeries {
  readonly #bounds: Float64Array
  /** One place for each bound, one for what is above all of them, and the sum of the values. */
  readonly #cells: Float64Array
  /** The last traced value of each bucket: trace ids, and pairs of value and time. Absent before the first. */
  #traceIds: string[] | undefined
  #traced: Float64Array | undefined

  constructor(bounds: Float64Array) {
    this.#bounds = bounds
    this.#cells = new Float64Array(bounds.length + 2)
  }

  /**
   * @param call kept as the example of its bucket, in place of the one before
   * @throws TypeError unless the value is finite: NaN or infinity would corrupt the sum
   */
  observe(value: number, call?: TracedValue): void {
    if (!Number.isFinite(value)) throw new TypeError(`${value} cannot be recorded in a histogram`)
    const bounds = this.#bounds
    const cells = this.#cells
    let low = 0
    let high = bounds.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (value <= bounds[middle]!) high = middle
      else low = middle + 1
    }
    cells[low]!++
    cells[cells.length - 1]! += value
    if (call !== undefined) this.#keep(low, value, call)
  }

  #keep(bucket: number, value: number, { traceId, receivedAtMs }: TracedValue): void {
    const buckets = this.#bounds.length + 1
    this.#traceIds ??= new Array<string>(buckets).fill('')
    this.#traced ??= new Float64Array(2 * buckets)
    this.#traceIds[bucket] = traceId
    this.#traced[2 * bucket] = value
    this.#traced[2 * bucket + 1] = receivedAtMs
  }

  /** @param bucket position of its bound; that of the values above all bounds is the number of bounds */
  exemplar(bucket: number): Exemplar | undefined {
    const traceId = this.#traceIds?.[bucket] ?? ''
    if (traceId === '') return undefined
    return { traceId, value: this.#traced![2 * bucket]!, receivedAtMs: this.#traced![2 * bucket + 1]! }
  }

  /** Values up to each bound, those below included, and at the end all of them. */
  get cumulated(): readonly number[] {
    let total = 0
    return Array.from(this.#cells.subarray(0, -1), count => (total += count))
  }

  get sum(): number {
    return this.#cells.at(-1)!
  }
}

/** Series by the value of one label; its caller bounds the number of values. */
export class Histogram {
  readonly #bounds: Float64Array
  readonly #series = new Map<string, HistogramSeries>()
  /** Asked for last: most calls are of the same kind as the one before. */
  #value: string | undefined
  #latest: HistogramSeries | undefined

  /** @param bounds upper bounds of the buckets, ascending; a value belongs to the first that is not below it */
  constructor(bounds: readonly number[]) {
    this.#bounds = Float64Array.from(bounds)
  }

  get bounds(): readonly number[] {
    return [...this.#bounds]
  }

  /** The series of a label's value; the same one each time. */
  of(value: string): HistogramSeries {
    if (value === this.#value) return this.#latest!
    let series = this.#series.get(value)
    if (series === undefined) {
      series = new HistogramSeries(this.#bounds)
      this.#series.set(value, series)
    }
    this.#value = value
    this.#latest = series
    return series
  }

  get all(): ReadonlyMap<string, HistogramSeries> {
    return this.#series
  }
}
