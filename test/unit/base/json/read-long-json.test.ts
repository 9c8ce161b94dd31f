/** Long JSON read in groups: the values, types of errors and lone surrogates are those of reading at once; and the number of steps. */
import { describe, expect, it } from 'vitest'
import { readJson } from '../../../../src/base/json/exact-number.ts'
import { loneSurrogateAt } from '../../../../src/base/json/lone-surrogate.ts'
import { type LongJson, readLongJson } from '../../../../src/base/json/read-long-json.ts'
import { type Random, seeded } from '../../../chaos/random.ts'

function read(text: string, groupChars: number): LongJson {
  const work = readLongJson(text, groupChars)
  for (let step = work.next(); ; step = work.next()) if (step.done === true) return step.value
}

const SCALARS = [
  '1',
  '-0',
  '1e400',
  '9007199254740993',
  'true',
  'null',
  '""',
  '"a,b"',
  '"[{"',
  '"\\"]"',
  '"\\\\"',
  '"\\ud83d\\ude00"',
  '"\\ud800"',
]
const NAMES = ['"a"', '"b"', '"1"', '"__proto__"', '"a/b~c"', '"\\u0061"', '"\\\\"', '""']
const SPACES = ['', '', '', ' ', '\n\t', '\r ']

function aText(random: Random, depth: number): string {
  const space = () => SPACES[random.below(SPACES.length)]!
  if (depth === 0 || random.below(4) === 0)
    return `${space()}${SCALARS[random.below(SCALARS.length)]}${space()}`
  const inner = Array.from({ length: random.below(7) }, () => aText(random, depth - 1))
  if (random.below(2) === 0) return `${space()}[${inner.length === 0 ? space() : inner.join(',')}]${space()}`
  const members = inner.map(one => `${space()}${NAMES[random.below(NAMES.length)]}${space()}:${one}`)
  return `${space()}{${members.length === 0 ? space() : members.join(',')}}${space()}`
}

const DAMAGE = ['', ',', ':', '[', ']', '{', '}', '"', '\\', ' ', '1', '\u00a0', '\u0001', 'x']

function damaged(random: Random, text: string): string {
  const at = random.below(text.length + 1)
  return text.slice(0, at) + DAMAGE[random.below(DAMAGE.length)] + text.slice(at + random.below(3))
}

function outcomeOf(make: () => unknown): unknown {
  try {
    return { value: make() }
  } catch (error) {
    return (error as Error).name
  }
}

describe('readLongJson', () => {
  it.each([0, 1, 7, 40])('reads generated texts as readJson does, groups of %d characters', groupChars => {
    for (let seed = 0; seed < 1_000; seed++) {
      const random = seeded(seed * 41 + groupChars)
      const whole = aText(random, 5)
      const text = seed % 2 === 0 ? whole : damaged(random, whole)
      const expected = outcomeOf(() => readJson(text))
      const actual = outcomeOf(() => read(text, groupChars).value)
      expect(actual, text).toStrictEqual(expected)
      // the order of members is a part of what a backend receives
      if (typeof actual === 'object') expect(JSON.stringify(actual)).toBe(JSON.stringify(expected))
    }
  })

  it.each([0, 7])('names a place of half a surrogate pair, groups of %d characters', groupChars => {
    let found = 0
    for (let seed = 0; seed < 2_000; seed++) {
      const text = aText(seeded(seed), 4)
      // a repeated name may hide a string, and names that are numbers come first in the value
      if (new Set(text.match(/"[^"]*"\s*:/g)).size !== (text.match(/"[^"]*"\s*:/g) ?? []).length) continue
      if (text.includes('"1"') || text.includes('__proto__')) continue
      const lone = loneSurrogateAt(text, readJson(text))
      expect(read(text, groupChars).loneSurrogateAt, text).toBe(lone)
      if (lone !== undefined) found++
    }
    expect(found).toBeGreaterThan(50)
  })

  it('keeps a member named __proto__ as a member', () => {
    const text = '{"__proto__":{"admin":true,"a":1},"b":1}'
    const { value } = read(text, 1) as { value: { admin?: boolean } }
    expect(value.admin).toBeUndefined()
    expect(JSON.stringify(value)).toBe(text)
  })

  it('refuses text that is nested too deeply', () => {
    expect(() => read('['.repeat(100_000), 32)).toThrow(RangeError)
  })

  it('interrupts the work often', () => {
    const work = readLongJson(JSON.stringify(Array.from({ length: 100_000 }, (_, at) => ({ id: at }))))
    let steps = 0
    while (work.next().done !== true) steps++
    expect(steps).toBeGreaterThan(30)
  })
})
