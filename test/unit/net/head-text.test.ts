/** Heads that one buffer builds one after the other, compared with the same heads built from strings. */
import { describe, expect, it } from 'vitest'
import { HeadText } from '../../../src/net/head-text.ts'

type Fields = readonly (readonly [string, string])[]

function built(head: HeadText, line: string, fields: Fields, end = ''): string {
  head.begin(line)
  for (const [name, value] of fields) head.addField(name, value)
  if (end !== '') head.add(end)
  const text = head.text()
  expect(Buffer.from(head.view()).toString('latin1')).toBe(text)
  expect(Buffer.from(head.bytes()).toString('latin1')).toBe(text)
  return text
}

const joined = (line: string, fields: Fields, end = ''): string =>
  line + fields.map(([name, value]) => `\r\n${name}: ${value}`).join('') + end

describe('heads that follow one another', () => {
  const cases: Record<string, readonly (readonly [string, Fields, string?])[]> = {
    'with another value of the same length': [
      [
        '200 OK',
        [
          ['a', '11'],
          ['b', '2'],
          ['c', '3'],
        ],
      ],
      [
        '200 OK',
        [
          ['a', '12'],
          ['b', '2'],
          ['c', '3'],
        ],
      ],
    ],
    'with a longer value': [
      [
        '200 OK',
        [
          ['a', '1'],
          ['b', '2'],
          ['c', '3'],
        ],
      ],
      [
        '200 OK',
        [
          ['a', '100'],
          ['b', '2'],
          ['c', '3'],
        ],
      ],
      [
        '200 OK',
        [
          ['a', '1'],
          ['b', '2'],
          ['c', '3'],
        ],
      ],
    ],
    'with another first line': [
      [
        '200 OK',
        [
          ['a', '1'],
          ['b', '2'],
        ],
      ],
      [
        '404 Not Found',
        [
          ['a', '1'],
          ['b', '2'],
        ],
      ],
      [
        '200 OK',
        [
          ['a', '1'],
          ['b', '2'],
        ],
      ],
    ],
    'after one that has only lines': [
      [
        '200 OK',
        [
          ['a', '1'],
          ['b', '2'],
        ],
      ],
      ['200 OK', [], '\r\nlong-lines: that overwrite the fields of the head before'],
      [
        '200 OK',
        [
          ['a', '1'],
          ['b', '2'],
        ],
      ],
    ],
    'after one with fewer fields and lines behind them': [
      [
        '200 OK',
        [
          ['a', '1'],
          ['b', '2'],
          ['c', '3'],
          ['d', '4'],
        ],
      ],
      ['200 OK', [['a', '1']], '\r\nkeep-alive: timeout=8'],
      [
        '200 OK',
        [
          ['a', '1'],
          ['b', '2'],
          ['c', '3'],
          ['d', '4'],
        ],
      ],
    ],
    'with fields in another order': [
      [
        '200 OK',
        [
          ['a', '1'],
          ['b', '1'],
        ],
      ],
      [
        '200 OK',
        [
          ['b', '1'],
          ['a', '1'],
        ],
      ],
    ],
    'with other names of the same length': [
      [
        '200 OK',
        [
          ['a', '1'],
          ['b', '2'],
        ],
      ],
      [
        '200 OK',
        [
          ['x', '1'],
          ['b', '2'],
        ],
      ],
    ],
    'longer than the kept buffer': [
      [
        '200 OK',
        [
          ['a', '1'],
          ['b', '2'],
        ],
      ],
      [
        '200 OK',
        [
          ['a', '1'],
          ['b', 'x'.repeat(20_000)],
          ['c', '3'],
        ],
      ],
      [
        '200 OK',
        [
          ['a', '1'],
          ['b', '2'],
          ['c', '3'],
        ],
      ],
    ],
  }
  for (const [name, heads] of Object.entries(cases))
    it(name, () => {
      const head = new HeadText()
      for (const [line, fields, end] of heads)
        expect(built(head, line, fields, end)).toBe(joined(line, fields, end))
    })

  it('after a value that no field may have', () => {
    const head = new HeadText()
    built(head, '200 OK', [
      ['a', '1'],
      ['b', 'value'],
      ['c', '3'],
    ])
    head.begin('200 OK')
    head.addField('a', '1')
    expect(head.addField('b', 'va\nue')).toBeUndefined()
    expect(
      built(head, '200 OK', [
        ['a', '1'],
        ['b', 'value'],
        ['c', '3'],
      ]),
    ).toBe(
      joined('200 OK', [
        ['a', '1'],
        ['b', 'value'],
        ['c', '3'],
      ]),
    )
  })

  it('whatever they have in common', () => {
    const head = new HeadText()
    let seed = 7
    const upTo = (most: number): number => {
      seed = (seed * 1103515245 + 12345) % 2147483648
      return Math.floor((seed / 2147483648) * most)
    }
    const values = ['', '1', '2', '33', '44', 'é', 'x'.repeat(70), 'y'.repeat(70), 'z'.repeat(9_000)]
    for (let round = 0; round < 4_000; round++) {
      const line = ['200 OK', '404 Not Found', ''][upTo(3)]!
      const fields = Array.from({ length: upTo(12) }, (_, at) => {
        const value = values[upTo(upTo(40) === 0 ? values.length : 5)]!
        return [`n${upTo(8) === 0 ? upTo(3) : at}`, value] as const
      })
      const end = ['', '\r\nkeep-alive: timeout=8'][upTo(2)]!
      head.begin(line)
      const isAscii = fields.map(([name, value]) => head.addField(name, value))
      expect(isAscii).toEqual(fields.map(([, value]) => value !== 'é'))
      head.add(end)
      expect(head.text()).toBe(joined(line, fields, end))
    }
  })

  it('with more fields than places are kept for', () => {
    const head = new HeadText()
    const fields = Array.from({ length: 100 }, (_, at) => [`n${at}`, String(at)] as const)
    for (let round = 0; round < 3; round++)
      expect(built(head, '200 OK', fields)).toBe(joined('200 OK', fields))
  })
})

describe('whether a field repeats', () => {
  it('is true only at the place where one with this name stood', () => {
    const head = new HeadText()
    built(head, '200 OK', [
      ['a', '1'],
      ['b', '2'],
    ])
    head.begin('200 OK')
    expect(head.repeats('b')).toBe(false)
    expect(head.repeats('a')).toBe(true)
    head.addField('a', '1')
    expect(head.repeats('b')).toBe(true)
    head.begin('404 Not Found')
    expect(head.repeats('a')).toBe(false)
  })
})
