/** The trace of real calls: every access of the kernel is reported, fields have names, and a call of one consumer stands for those of others. */
import { describe, expect, it } from 'vitest'
import {
  type TracedAccess,
  traceBucket,
  traceCalls,
  traceOwnKernel,
} from '../../../bench/contention/calls.ts'
import { CONSUMER, CONSUMER_BYTES, offsetsOf, structOf } from '../../../bench/contention/fields.ts'
import { instrumentText, kindOf } from '../../../bench/contention/instrument.ts'
import { stepsOf } from '../../../bench/contention/workloads.ts'

const shared = (accesses: readonly TracedAccess[]) => accesses.filter(({ field }) => !field.isPrivate)
const named = (accesses: readonly TracedAccess[]) =>
  shared(accesses).map(({ kind, field }) => `${kind} ${field.name}`)

describe('the instrumentation', () => {
  it('reports before each access, and keeps what it does', () => {
    const text = [
      '(module',
      ' (import "env" "memory" (memory $0 1 1 shared))',
      ' (func $0',
      '  i32.const 8',
      '  i64.const 1',
      '  i64.store32 offset=4 align=1',
      ' )',
      ')',
    ].join('\n')
    const traced = instrumentText(text)
    expect(traced).toContain('  call $traced0\n )')
    expect(traced).toContain(' (import "env" "trace" (func $trace (param i32 i32 i32)))')
    expect(traced).toContain('(func $traced0 (param i32 i64)')
    expect(traced).toContain(' i32.const 4\n i32.add\n i32.const 4\n i32.const 1\n call $trace')
  })

  it('knows how an instruction takes its line', () => {
    expect(kindOf('i32.load8_u')).toBe('load')
    expect(kindOf('i64.atomic.load')).toBe('load')
    expect(kindOf('i32.store16')).toBe('store')
    expect(kindOf('memory.fill')).toBe('store')
    expect(kindOf('i32.atomic.store')).toBe('release')
    expect(kindOf('i32.atomic.rmw.cmpxchg')).toBe('rmw')
    expect(kindOf('i32.atomic.rmw8.cmpxchg_u')).toBe('rmw')
  })
})

describe('names of fields', () => {
  it('are those of the sources', () => {
    expect(offsetsOf('HEAD', 'export const HEAD_B: i32 = 8\nexport const HEAD_A = 0\n')).toEqual([
      [0, 'a'],
      [8, 'b'],
    ])
    expect(new Map(structOf('Slot').fields).get(24)).toBe('lock')
    expect(structOf('Bucket').bytes).toBe(48)
    expect(CONSUMER).toContainEqual([28, 'inFlight'])
    expect(CONSUMER_BYTES).toBe(256)
  })
})

describe('a traced call', () => {
  const options = { gapMs: 0.06, calls: 40, warmUp: 1_100 }
  const calls = traceCalls(options)

  it('takes units under the locks of the consumer and the tool, and releases without', () => {
    const { take, release } = calls.find(call => named(call.take).length < 80)!
    const names = named(take)
    expect(names.indexOf('rmw consumer.lock')).toBeGreaterThan(0)
    expect(names.indexOf('rmw bucket.lock')).toBeGreaterThan(names.indexOf('rmw consumer.lock'))
    expect(names.at(-1)).toBe('release consumer.lock')
    expect(names).toContain('load policy.epoch')
    expect(names).toContain('load header.skew')
    expect(named(release)).toEqual(['load consumer.inFlight', 'rmw consumer.inFlight'])
  })

  it('reserves units in the journal now and then', () => {
    const reserving = calls.filter(({ take }) => named(take).includes('rmw header.sequence'))
    expect(reserving.length).toBeGreaterThanOrEqual(1)
    expect(reserving.length).toBeLessThan(calls.length / 8)
  })

  it('of another consumer touches the same fields, and other lines only where slots are', () => {
    const others = traceCalls({ ...options, othersFirst: 5 })
    const baseOf = (traced: typeof calls, part: string) =>
      new Set(
        traced.flatMap(({ take }) => take.flatMap(({ field }) => (field.part === part ? [field.base] : []))),
      )
    for (const [part, bytes] of [
      ['consumer', CONSUMER_BYTES],
      ['bucket', 64],
    ] as const) {
      const [mine] = baseOf(calls, part)
      expect(baseOf(others, part)).toEqual(new Set([mine! + 5 * bytes]))
    }
    // which windows advance in a call depends on the clock; in all calls together every field is touched
    const fieldsOf = (traced: typeof calls) => new Set(traced.flatMap(({ take }) => named(take)))
    expect(fieldsOf(others)).toEqual(fieldsOf(calls))
    const header = (traced: typeof calls) => baseOf(traced, 'header')
    expect(header(others)).toEqual(header(calls))
  })

  it('becomes steps: locks are acquired and released, memory of the thread is a pause', () => {
    const steps = stepsOf(calls[0]!.take, 3)
    expect(steps.filter(({ kind }) => kind === 'acquire')).toHaveLength(2)
    expect(steps.filter(({ kind }) => kind === 'release')).toHaveLength(2)
    expect(steps.some(({ kind }) => kind === 'pause')).toBe(true)
    const lines = (consumer: number) =>
      new Set(
        stepsOf(calls[0]!.take, consumer).flatMap(step =>
          'address' in step && step.field.startsWith('consumer.') ? [Math.floor(step.address / 64)] : [],
        ),
      )
    expect([...lines(1)].some(line => lines(2).has(line))).toBe(false)
  })

  it('takes a token without a lock, and reads path and envelope in memory of its thread', () => {
    expect(traceBucket().map(({ kind }) => kind)).toEqual(['load', 'load', 'load', 'rmw'])
    expect(traceOwnKernel().length).toBeGreaterThan(50)
  })
})
