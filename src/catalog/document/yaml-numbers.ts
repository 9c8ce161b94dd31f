/** Options of the YAML parser with which it reads numbers as `ExactNumber` where a double would change them. */
import { isScalar, type ScalarTag, type Tags } from 'yaml'
import { numberOf } from '../../base/json/exact-number.ts'

const NUMBER = /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/

/** For `parseDocument` and `parseAllDocuments`: such a number becomes an `ExactNumber`. */
export const EXACT_NUMBERS = {
  customTags: (tags: Tags): Tags =>
    tags.map(tag =>
      typeof tag === 'object' && 'test' in tag && /:(int|float)$/.test(tag.tag)
        ? exactly(tag as ScalarTag)
        : tag,
    ),
} as const

function exactly(tag: ScalarTag): ScalarTag {
  return {
    ...tag,
    resolve(text, onError, options) {
      const resolved = tag.resolve(text, onError, options)
      const json = jsonOf(text)
      if (!NUMBER.test(json)) return resolved
      const number = numberOf(json)
      if (typeof number === 'number') return resolved
      if (!isScalar(resolved)) return number
      resolved.value = number
      return resolved
    },
  }
}

/** The number as JSON writes it; another text where JSON has no such number. */
function jsonOf(yaml: string): string {
  if (/^0[xo]/.test(yaml)) return String(BigInt(yaml))
  return yaml
    .replace(/^\+/, '')
    .replace(/^(-?)(?=\.)/, sign => `${sign}0`)
    .replace(/^(-?)0+(?=\d)/, '$1')
    .replace(/\.(?=$|[eE])/, '')
}
