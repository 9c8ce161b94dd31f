/** Result lines from the writer to the verdict and the page: statistics, units, the format, and the committed table of targets. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { noisyText } from '../../../bench/quiet.ts'
import { openResults, type ResultLine } from '../../../bench/record.ts'
import { explain } from '../../../bench/report/explain.ts'
import { judge, readExplanations } from '../../../bench/report/judge.ts'
import { page } from '../../../bench/report/page.ts'
import { newest, ofWholeRuns, readLines, resultFiles } from '../../../bench/report/read-results.ts'
import { ratioSpread, spread } from '../../../bench/statistics.ts'
import { readTargets, type Target } from '../../../bench/targets.ts'
import { shown, shownRange } from '../../../bench/units.ts'

const directory = mkdtempSync(join(tmpdir(), 'toolgate-results-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
const file = (name: string): string => join(directory, name)
const TIME = { metric: 'time', unit: 'ns', better: 'lower' } as const

describe('statistics', () => {
  it('take the middle, and divide neighbours', () => {
    expect(spread([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 })
    expect(spread([4, 1, 2, 3])).toEqual({ median: 2.5, min: 1, max: 4 })
    expect(ratioSpread([10, 40, 20], [10, 20, 20])).toEqual({ median: 1, min: 1, max: 2 })
    expect(ratioSpread([10, 40], [10, 20, 20])).toEqual({ median: 25 / 20, min: 0.5, max: 4 })
    expect(() => spread([])).toThrow(RangeError)
  })
})

describe('units', () => {
  it.each([
    [77.123, 'ns', '77.1 ns'],
    [1864, 'ns', '1.86 µs'],
    [0.0004, 'ms', '400 ns'],
    [52_100.4, 'calls/s', '52,100 calls/s'],
    [0.871, '', '0.87'],
    [2048, 'KiB', '2.00 MiB'],
    [0, 'ms', '0.00 ms'],
  ])('show %d %s as %s', (value, unit, text) => expect(shown(value, unit)).toBe(text))

  it('write a unit once where both ends share it', () => {
    expect(shownRange(77.1, 79, 'ns')).toBe('77.1–79.0 ns')
    expect(shownRange(990, 1010, 'ns')).toBe('990 ns – 1.01 µs')
  })
})

describe('the result format', () => {
  it('is read as it was written: place, samples, ratio, row of the table', () => {
    const results = openResults('micro', file('written.ndjson'))
    const reference = { case: 'kernel/bucket/best-js', samples: [20, 20] }
    results.write({ ...TIME, suite: 'kernel/bucket', case: 'wasm', samples: [8, 10], reference })
    results.write({ ...TIME, suite: 'kernel/bucket', case: 'best-js', samples: [20, 20] })
    const [line, other] = readLines([file('written.ndjson')])
    expect(line).toMatchObject({ format: 1, median: 9, min: 8, max: 10, target: 'bucket' })
    expect(line!.reference).toEqual({ case: 'kernel/bucket/best-js', median: 0.45, min: 0.4, max: 0.5 })
    expect(line!.machine.cores).toBeGreaterThan(0)
    expect(line!.versions.node).toBe(process.version)
    expect(other!.run).toBe(line!.run)
    expect(other!.reference).toBeUndefined()
  })

  it('makes no claim about figures of a machine that was not quiet', () => {
    const verdictAt = (others: number | undefined, slow?: number) => {
      const path = file(`others-${others}-${slow}.ndjson`)
      const pace = { slowShare: () => slow }
      const results = openResults('micro', path, '', { othersShare: () => others }, pace)
      results.write({ ...TIME, suite: 'kernel/bucket', case: 'wasm', samples: [8, 10] })
      return judge(readTargets(), newest(readLines([path])), {}).find(({ line }) => line !== undefined)!
        .verdict
    }
    expect(verdictAt(0.5)).toBe('noisy')
    expect(verdictAt(0.01)).not.toBe('noisy')
    expect(verdictAt(undefined)).not.toBe('noisy')
    expect(verdictAt(0.01, 0.5)).toBe('noisy')
    expect(verdictAt(undefined, 0.5)).toBe('noisy')
    expect(verdictAt(0.01, 0.2)).not.toBe('noisy')
    expect(noisyText(0.5)).toContain('50 %')
    expect(noisyText(0.01)).toBeUndefined()
  })

  it('counts every target on the tiles of the page, also those without a claim', () => {
    const path = file('tiles.ndjson')
    const results = openResults('micro', path, '', { othersShare: () => 0.5 })
    results.write({ ...TIME, suite: 'kernel/bucket', case: 'wasm', samples: [8, 10] })
    const lines = readLines([path])
    const rows = judge(readTargets(), newest(lines), {})
    const counts = [...page(rows, lines).matchAll(/<div class="[a-z]*"><b>(\d+)<\/b>([^<]*)/g)]
      .map(([, count, words]) => [words!, Number(count)] as const)
      .filter(([words]) => words !== 'with the stretch')
    expect(Object.fromEntries(counts)['without a claim: not quiet']).toBe(1)
    expect(counts.reduce((sum, [, count]) => sum + count, 0)).toBe(rows.length)
  })

  it('keeps a filtered run out of the report of whole runs', () => {
    const path = file('filtered.ndjson')
    openResults('micro', path).write({ ...TIME, suite: 'kernel/bucket', case: 'wasm', samples: [8] })
    openResults('micro', path, 'kernel').write({
      ...TIME,
      suite: 'kernel/bucket',
      case: 'wasm',
      samples: [80],
    })
    expect(ofWholeRuns(readLines([path])).map(({ median }) => median)).toEqual([8])
  })

  it('leaves out a ratio to nothing', () => {
    const results = openResults('http', file('zero.ndjson'))
    const reference = { case: 'http/load/x', samples: [0] }
    expect(
      results.write({ ...TIME, suite: 'http/load', case: 'y', samples: [1], reference }).reference,
    ).toBeUndefined()
  })

  it.each([
    ['{"format":1', /spoiled\.ndjson:2: not a line of JSON/],
    ['{"format":2}', /spoiled\.ndjson:2: format 2, this reader knows 1/],
    ['{"format":1,"run":"r"}', /spoiled\.ndjson:2: not a result line/],
  ])('refuses %s by file and line', (text, why) => {
    writeFileSync(file('spoiled.ndjson'), `\n${text}\n`)
    expect(() => readLines([file('spoiled.ndjson')])).toThrow(why)
  })

  it('finds no file without a folder', () => expect(resultFiles(file('none'))).toEqual([]))
})

describe('the verdict', () => {
  const line = (run: string, at: string, name: string, ...samples: number[]): ResultLine =>
    ({
      format: 1,
      run,
      at,
      suite: 's/t',
      case: name,
      ...TIME,
      samples,
      ...spread(samples),
      machine: {},
      versions: {},
      commit: 'c',
      dirty: false,
    }) as unknown as ResultLine
  const row = (id: string, bounds: Target['bounds']): Target => ({
    id,
    group: 'stages',
    what: id,
    case: 's/t/a',
    metric: 'time',
    unit: 'ns',
    bounds,
  })
  const value = { on: 'value', max: 10, stretch: 5 } as const
  const ratio = { on: 'ratio', of: 's/t/b', max: 0.5 } as const
  const verdictOf = (bounds: Target['bounds'], ...lines: ResultLine[]) =>
    judge([row('x', bounds)], newest(lines), { x: 'because' })[0]!

  it.each([
    [4, 'stretch'],
    [8, 'met'],
    [11, 'missed'],
  ])('of %d is %s', (figure, verdict) =>
    expect(verdictOf([value], line('1', '1', 'a', figure)).verdict).toBe(verdict),
  )

  it('turns round where more is better', () => {
    const least = { on: 'value', min: 10, stretch: 20 } as const
    expect(verdictOf([least], line('1', '1', 'a', 9)).verdict).toBe('missed')
    expect(verdictOf([least], line('1', '1', 'a', 21)).verdict).toBe('stretch')
  })

  it('takes the newest line, and the reference of its run alone', () => {
    const old = [line('1', '1', 'a', 8), line('1', '1', 'b', 10)]
    const judged = verdictOf([value, ratio], ...old, line('2', '2', 'a', 4))
    expect(judged.line!.median).toBe(4)
    expect(judged.bounds[1]!.figure).toBeUndefined()
    expect(judged.verdict).toBe('unmeasured')
    const whole = verdictOf([value, ratio], ...old, line('2', '2', 'a', 4), line('2', '2', 'b', 10))
    expect(whole.bounds[1]!.figure!.median).toBe(0.4)
    expect(whole.verdict).toBe('met')
  })

  it('is missed when one bound is, measured or not the others', () => {
    const judged = verdictOf([value, ratio], line('1', '1', 'a', 11))
    expect(judged.verdict).toBe('missed')
    expect(judged.explanation).toBe('because')
  })

  it('is explained with the figures of its run', () => {
    const results = newest([line('1', '1', 'a', 11), line('1', '1', 'b', 10), line('2', '2', 'b', 12)])
    const text = 'a is above b {s/t/b} and {s/t/c}; its time is {s/t/a time}'
    expect(explain(text, results.find('s/t/a', 'time')!, results)).toBe(
      'a is above b 10.0 ns and (not measured); its time is 11.0 ns',
    )
  })

  it('is unmeasured without a line', () => expect(verdictOf([value]).verdict).toBe('unmeasured'))
})

describe('the committed table', () => {
  const targets = readTargets()

  it('has a name and at least one limit in each row, and each case and metric once', () => {
    const names = targets.map(({ case: name, metric }) => `${name} ${metric}`)
    expect(new Set(names).size).toBe(targets.length)
    expect(new Set(targets.map(({ id }) => id)).size).toBe(targets.length)
    const faulty = targets.filter(
      ({ bounds }) =>
        bounds.length === 0 ||
        bounds.some(
          ({ on, of, max, min }) =>
            (on === 'ratio') !== (of !== undefined) || (max === undefined) === (min === undefined),
        ),
    )
    expect(faulty.map(({ id }) => id)).toEqual([])
    expect(targets.length).toBeGreaterThan(35)
  })

  it('has a row for each explanation', () => {
    const ids = new Set(targets.map(({ id }) => id))
    expect(Object.keys(readExplanations()).filter(id => !ids.has(id))).toEqual([])
  })
})
