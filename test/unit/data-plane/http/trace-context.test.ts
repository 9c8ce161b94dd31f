/** What counts as a trace: W3C Trace Context and Baggage, and that nothing else is ever passed on. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Call } from '../../../../src/data-plane/http/call.ts'
import {
  propagatedHeaders,
  readBaggage,
  readTraceparent,
  readTracestate,
  traceTextsOf,
} from '../../../../src/data-plane/http/trace-context.ts'
import { heldBytes } from '../../../../src/net/held-bytes.ts'
import type { HttpRequest, HttpResponse } from '../../../../src/net/server/listener.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const VALID = `00-${TRACE}-${PARENT}-01`

describe('traceparent', () => {
  it.each([
    [VALID, '01'],
    [`00-${TRACE}-${PARENT}-00`, '00'],
    // flags without a meaning are not passed on
    [`00-${TRACE}-${PARENT}-ff`, '03'],
    // a version to come
    [`cc-${TRACE}-${PARENT}-01`, '01'],
    [`cc-${TRACE}-${PARENT}-01-what-the-future-brings`, '01'],
  ])('%s is read', (value, flags) => {
    expect(readTraceparent(value)).toEqual({ traceId: TRACE, parentSpanId: PARENT, flags })
  })

  it.each([
    '',
    'nonsense',
    VALID.toUpperCase(),
    `${VALID}-more`,
    `${VALID} `,
    ` ${VALID}`,
    `${VALID}\n`,
    `ff-${TRACE}-${PARENT}-01`,
    `cc-${TRACE}-${PARENT}-01.what`,
    `cc-${TRACE}-${PARENT}-01-\r\nx-evil: 1`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-1`,
    `00-${TRACE}-${PARENT}`,
  ])('%j is none', value => {
    expect(readTraceparent(value)).toBeUndefined()
  })
})

describe('tracestate', () => {
  it.each([
    ['congo=t61rcWkgMzE', 'congo=t61rcWkgMzE'],
    [' rojo=00f067aa0ba902b7 ,\t, tenant@vendor=a b ', 'rojo=00f067aa0ba902b7,tenant@vendor=a b'],
    ['', ''],
  ])('%j is %j', (value, read) => {
    expect(readTracestate(value)).toBe(read)
  })

  it.each([
    'nonsense',
    'UPPER=1',
    '=1',
    'a=',
    'a=1,a=2',
    'a=1\r\nx-evil: 1',
    'a=ä',
    'a=b=c',
    Array.from({ length: 33 }, (_, at) => `k${at}=1`).join(','),
    `a=${'x'.repeat(257)}`,
    Array.from({ length: 20 }, (_, at) => `k${at}=${'x'.repeat(200)}`).join(','),
  ])('%j is none', value => {
    expect(readTracestate(value)).toBe('')
  })
})

describe('baggage', () => {
  it.each([
    [
      'userId=alice,serverNode=DF%2028,isProduction=false',
      'userId=alice,serverNode=DF%2028,isProduction=false',
    ],
    ['a = 1 ; p = 2 ; q , b=', 'a = 1 ; p = 2 ; q,b='],
  ])('%j is %j', (value, read) => {
    expect(readBaggage(value)).toBe(read)
  })

  it.each([
    'nonsense',
    '=1',
    'a b=1',
    'a=b c',
    'a=1;=2',
    'a=1;',
    'a="1"',
    'a=1\r\nx-evil: 1',
    `a=${'x'.repeat(8200)}`,
    Array.from({ length: 65 }, (_, at) => `k${at}=1`).join(','),
  ])('%j is none', value => {
    expect(readBaggage(value)).toBe('')
  })
})

it('never forwards characters that could end a header', () => {
  const piece = fc.constantFrom('a', '=', ',', ';', ' ', '\t', '\r', '\n', '\0', 'ä', '"', '@', '%20', '1')
  const anything = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(piece).map(pieces => pieces.join('')),
  )
  fc.assert(
    fc.property(anything, anything, (tracestate, baggage) => {
      const headers = propagatedHeaders({ traceparent: VALID, tracestate, baggage })
      for (const value of headers) expect(value).toMatch(/^[\x20-\x7e\t]+$/)
    }),
    { numRuns: 2000 },
  )
})

it('takes no state along without a valid parent', () => {
  const texts = { tracestate: 'a=1', baggage: 'b=2' }
  expect(propagatedHeaders({ traceparent: VALID, ...texts })).toEqual(['tracestate', 'a=1', 'baggage', 'b=2'])
  expect(propagatedHeaders({ traceparent: 'nonsense', ...texts })).toEqual(['baggage', 'b=2'])
})

describe('a call', () => {
  const callWith = (headers: Record<string, string>): Call => {
    const request = { header: (name: string) => headers[name] ?? '' } as HttpRequest
    return new Call(request, {} as HttpResponse, [], 0, heldBytes(0))
  }
  const OTHER = VALID.replace('4bf9', '1111')

  it('continues the trace named in its body', () => {
    const call = callWith({})
    const own = call.traceId
    call.adoptTrace(traceTextsOf({ traceparent: VALID, tracestate: 'a=1', baggage: 'b=2', other: 3 }))
    expect([call.traceId, call.parentSpanId, call.traceFlags]).toEqual([TRACE, PARENT, '01'])
    expect(call.traceHeaders).toEqual(['tracestate', 'a=1', 'baggage', 'b=2'])
    expect(own).not.toBe(TRACE)
  })

  it.each([
    { traceparent: 'nonsense', tracestate: 'a=1', baggage: 'b=2' },
    { traceparent: 7, tracestate: ['a=1'], baggage: { b: 2 } },
    { tracestate: 'a=1' },
    JSON.parse(`{"__proto__":{"traceparent":"${VALID}"}}`),
  ])('begins its own where the body says %j', meta => {
    const call = callWith({})
    const own = call.traceId
    call.adoptTrace(traceTextsOf(meta))
    expect([call.traceId, call.parentSpanId, call.traceHeaders]).toEqual([own, undefined, []])
  })

  it('believes its headers before its body, also when they say nothing that can be read', () => {
    const texts = traceTextsOf({ traceparent: VALID, tracestate: 'a=1' })
    const reported = callWith({ traceparent: OTHER, tracestate: 'h=1' })
    reported.adoptTrace(texts)
    expect([reported.traceId, reported.traceHeaders]).toEqual([OTHER.slice(3, 35), ['tracestate', 'h=1']])
    const broken = callWith({ traceparent: 'nonsense', tracestate: 'h=1' })
    broken.adoptTrace(texts)
    expect(broken.traceId).not.toBe(TRACE)
    expect(broken.traceHeaders).toEqual([])
  })
})
