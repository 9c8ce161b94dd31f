/** Requests with long arguments: the same bytes in steps as at once, in short steps, and bounds where each value costs. */
import { describe, expect, it } from 'vitest'
import { runAtOnce } from '../../../../src/base/async/slices.ts'
import type { BodyBinding, Tool } from '../../../../src/model/tool.ts'
import { cpuUs, slowness } from '../../../fixtures/cpu-time.ts'
import { aTool } from '../../../fixtures/exchange.ts'
import { preparedTool } from '../../../fixtures/prepared-tool.ts'

/** The collector's threads count in the processor time of a step: the least of several runs is that of the step. */
const RUNS = 3
/** For processor time, on the machine that the bounds were measured on. */
const MAX_STEP_MS = 50

function toolWith(contentType: string, encoding: BodyBinding['encoding'] = {}): Tool {
  const tool = aTool({ inputSchema: { type: 'object' } })
  const body: BodyBinding = {
    contentType,
    required: true,
    from: {
      kind: 'fields',
      fields: [
        { argument: 'a', name: 'a' },
        { argument: 'b', name: 'b' },
      ],
    },
    encoding,
  }
  return { ...tool, request: { ...tool.request, method: 'POST', parameters: [], body } }
}

const numbers = Array.from({ length: 66_000 }, (_, at) => at)
const LONG: readonly (readonly [string, unknown])[] = [
  ['numbers', numbers.slice(0, 10_000)],
  ['texts with line breaks', ['a\nb', '&=', '%0A', ...Array.from({ length: 3_000 }, (_, at) => `${at} é😀`)]],
  ['signs', "!'()*".repeat(100_000)],
  ['surrogate pairs', `a${'😀'.repeat(40_000)}`],
  ['percent signs', '%41%'.repeat(30_001)],
  ['a list of long texts', Array.from({ length: 20 }, (_, at) => `${at}${"*é'".repeat(9_000)}`)],
  ['an object of a long text', { "it's": '(é)'.repeat(100_000), none: undefined }],
  ['an object in an object', { deep: { deeper: numbers.slice(0, 20_000), text: '😀'.repeat(20_000) } }],
  ['an object', Object.fromEntries(numbers.slice(0, 5_000).map(at => [`k${at}`, { at: [at] }]))],
]

describe.each([
  ['application/json', {}],
  ['application/x-www-form-urlencoded', {}],
  ['application/x-www-form-urlencoded', { a: { style: 'form', explode: true, allowReserved: true } }],
  ['application/x-www-form-urlencoded', { a: { style: 'form', explode: false } }],
  ['application/x-www-form-urlencoded', { a: { style: 'deepObject', explode: true } }],
  ['multipart/form-data', {}],
] as const)('a body of %s, encoded by %o', (contentType, encoding) => {
  const { buildRequest, buildInSteps } = preparedTool(toolWith(contentType, encoding))

  it.each(LONG)('is built of %s in steps', (_, a) => {
    const args = { a, b: 'x' }
    let steps = 0
    const measured = () => {
      const work = buildInSteps(args)
      let longestMs = 0
      const timed = function* (): ReturnType<typeof buildInSteps> {
        for (;;) {
          let step!: ReturnType<typeof work.next>
          const stepUs = cpuUs(() => {
            step = work.next()
          })
          longestMs = Math.max(longestMs, stepUs / 1_000)
          if (step.done === true) return step.value
          steps++
          yield
        }
      }
      return { built: runAtOnce(timed()), longestMs, slow: slowness() }
    }
    const [first, ...others] = Array.from({ length: RUNS }, measured) as [ReturnType<typeof measured>]
    const [inSteps, atOnce] = [first.built, buildRequest(args)]
    expect({ ...inSteps, body: undefined }).toEqual({ ...atOnce, body: undefined })
    // comparing large typed arrays member by member takes minutes
    expect(Buffer.compare(Buffer.from(inSteps.body!), Buffer.from(atOnce.body!))).toBe(0)
    expect(steps).toBeGreaterThan(0)
    const least = (name: 'longestMs' | 'slow') => Math.min(first[name], ...others.map(one => one[name]))
    expect(least('longestMs')).toBeLessThan(MAX_STEP_MS * least('slow'))
  })
})

it('a form is encoded by the rules of one text, wherever it is cut', () => {
  const { buildRequest } = preparedTool(toolWith('application/x-www-form-urlencoded'))
  const text = `${'é😀!%&'.repeat(9_000)}`
  const { body } = buildRequest({ a: text, b: ['\n', "it's", ...numbers.slice(0, 2_500)] })
  const fields = new URLSearchParams(body as string)
  expect(fields.get('a')).toBe(text)
  expect(fields.getAll('b')).toEqual(['\n', "it's", ...numbers.slice(0, 2_500).map(String)])
})

it('a form may have more items than a function may have parameters', () => {
  const { buildRequest } = preparedTool(toolWith('application/x-www-form-urlencoded'))
  const { body } = buildRequest({ a: Array.from({ length: 400_000 }, () => 1) })
  expect((body as string).length).toBe(400_000 * 4 - 1)
})

describe('bounds', () => {
  it('a body has at most 10,000 parts', () => {
    const { validate } = preparedTool(toolWith('multipart/form-data'))
    expect(validate({ a: numbers })).toEqual([
      { path: '/a', message: 'must not have more than 10000 items: each item is a part of the body' },
    ])
    expect(validate({ a: numbers.slice(0, 10_000) })).toEqual([])
  })

  it('a parameter outside of the body has at most 64 KiB', () => {
    const tool = aTool({ inputSchema: { type: 'object' } })
    const parameter = { argument: 'q', name: 'q', in: 'query', style: 'form', explode: true } as const
    const { validate } = preparedTool({ ...tool, request: { ...tool.request, parameters: [parameter] } })
    const fault = {
      path: '/q',
      message: 'must not have more than 10000 values or 65536 characters: it is sent outside the body',
    }
    expect(validate({ q: 'x'.repeat(70_000) })).toEqual([fault])
    expect(validate({ q: numbers })).toEqual([fault])
    expect(validate({ q: ['x'.repeat(70_000)] })).toEqual([fault])
    expect(validate({ q: numbers.slice(0, 10_000) })).toEqual([])
  })
})
