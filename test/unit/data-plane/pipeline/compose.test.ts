/** How stages run one after another, and what compose refuses. */
import { describe, expect, it } from 'vitest'
import { isPending } from '../../../../src/base/and-then.ts'
import { Later } from '../../../../src/base/later.ts'
import { compose } from '../../../../src/data-plane/pipeline/compose.ts'
import type { Outcome } from '../../../../src/data-plane/pipeline/outcome.ts'
import type { Phase, Stage } from '../../../../src/data-plane/pipeline/stage.ts'
import { refuse } from '../../../../src/model/refusal.ts'
import { exchange } from '../../../fixtures/exchange.ts'

function stage(id: string, phase: Phase, run: Stage['run'] = () => undefined): Stage {
  return { id, phase, run }
}

const noBug = (error: unknown) => {
  throw error
}

describe('compose', () => {
  it('runs stages in order and stays synchronous while every stage does', () => {
    const seen: string[] = []
    const pipeline = compose(
      [
        stage('a', 'admit', () => void seen.push('a')),
        stage('b', 'identify', () => void seen.push('b')),
        stage('c', 'settle', () => void seen.push('c')),
      ],
      noBug,
    )
    expect(pipeline(exchange())).toBeUndefined()
    expect(seen).toEqual(['a', 'b', 'c'])
  })

  it('ends at the first outcome, skips the rest, and settles with that outcome in sight', () => {
    const seen: string[] = []
    const refusal = refuse('policy_denied')
    const pipeline = compose(
      [
        stage('deny', 'decide', () => refusal),
        stage('call', 'invoke', () => void seen.push('called')),
        stage(
          'settle',
          'settle',
          x => void seen.push(x.final === refusal ? 'saw the refusal' : 'saw something else'),
        ),
      ],
      noBug,
    )
    expect(pipeline(exchange())).toBe(refusal)
    expect(seen).toEqual(['saw the refusal'])
  })

  it('awaits a stage that returns a Promise and goes on after it', async () => {
    const seen: string[] = []
    const pipeline = compose(
      [
        stage('slow', 'identify', async () => {
          await new Promise(resolve => setTimeout(resolve, 5))
          seen.push('slow')
          return undefined
        }),
        stage('next', 'decide', () => void seen.push('next')),
        stage('settle', 'settle', () => void seen.push('settle')),
      ],
      noBug,
    )
    const final = pipeline(exchange())
    expect(isPending(final)).toBe(true)
    await final
    expect(seen).toEqual(['slow', 'next', 'settle'])
  })

  it.each(['throws', 'rejects'])(
    'returns internal_error when a stage %s, reports the stage, and still settles',
    async how => {
      const bugs: string[] = []
      let settled = 0
      const pipeline = compose(
        [
          stage('broken', 'decide', () => {
            if (how === 'rejects') return Promise.reject(new Error('boom'))
            throw new Error('boom')
          }),
          stage('settle', 'settle', () => void settled++),
        ],
        (error, at) => bugs.push(`${at.id}: ${(error as Error).message}`),
      )
      expect(await pipeline(exchange())).toMatchObject({ kind: 'refusal', reason: 'internal_error' })
      expect(bugs).toEqual(['broken: boom'])
      expect(settled).toBe(1)
    },
  )

  it('runs every settle stage though one of them throws, and keeps the outcome', () => {
    const seen: string[] = []
    const pipeline = compose(
      [
        stage('bad', 'settle', () => {
          throw new Error('boom')
        }),
        stage('good', 'settle', () => void seen.push('good')),
      ],
      () => void seen.push('bug'),
    )
    expect(pipeline(exchange())).toBeUndefined()
    expect(seen).toEqual(['bug', 'good'])
  })

  it('waits for every pending settle stage, however they become ready, and for none twice', async () => {
    const arrived = new Later<undefined>()
    arrived.resolve(undefined)
    const late = new Later<undefined>()
    const seen: string[] = []
    const pipeline = compose(
      [
        stage('at once', 'settle', () => arrived),
        stage('late', 'settle', () => late),
        stage('slow', 'settle', async () => {
          await new Promise(resolve => setTimeout(resolve, 5))
          seen.push('slow')
          return undefined
        }),
        stage('rejects', 'settle', () => Promise.reject(new Error('boom'))),
        { ...stage('last', 'settle', () => void seen.push('last')), last: true },
      ],
      () => void seen.push('bug'),
    )
    const final = pipeline(exchange())
    expect(isPending(final)).toBe(true)
    setTimeout(() => {
      seen.push('late')
      late.resolve(undefined)
    }, 20)
    expect(await final).toBeUndefined()
    expect(seen).toEqual(['bug', 'slow', 'late', 'last'])
  })

  it('passes what a Later brings on without another turn, also over several stages', () => {
    const first = new Later<Outcome>()
    const second = new Later<Outcome>()
    const refusal = refuse('quota_exceeded')
    const pipeline = compose(
      [
        stage('first', 'identify', () => first),
        stage('second', 'limit', () => second),
        stage('never', 'invoke', () => {
          throw new Error('not reached')
        }),
      ],
      noBug,
    )
    const ends: unknown[] = []
    const final = pipeline(exchange()) as Later<unknown>
    final.readBy({ onValue: value => ends.push(value), onError: error => ends.push(error) })
    first.resolve(undefined)
    expect(ends).toEqual([])
    second.resolve(refusal)
    expect(ends).toEqual([refusal])
  })

  it('refuses a wrong order and names both stages', () => {
    expect(() => compose([stage('call', 'invoke'), stage('authenticate', 'identify')], noBug)).toThrow(
      /"authenticate" \(phase identify\).*"call" \(phase invoke\)/,
    )
  })

  it('refuses an id that is listed twice', () => {
    expect(() => compose([stage('a', 'admit'), stage('a', 'decide')], noBug)).toThrow(/"a" is listed twice/)
  })
})
