/** Mutations of bytes: bits, tokens of the format, repeated and crossed parts. */
import type { Random } from '../chaos/random.ts'

const MAX_BYTES = 4_096
const TOKENS = [
  '\r\n',
  '\r\n\r\n',
  '\0',
  '"',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\\u0000',
  '\\ud800',
  'null',
  '-0',
  '1e999',
  '0x',
  '__proto__',
  '$ref',
  '#/',
  'Content-Length: 5',
  'Transfer-Encoding: chunked',
  '\t',
  ' ',
  '\ufeff',
  'é',
  '99999999999999999999',
  '..',
  '%2e',
  'a'.repeat(70),
]

export function mutate(random: Random, corpus: readonly Buffer[]): Buffer<ArrayBuffer> {
  let bytes = Buffer.from(corpus[random.below(corpus.length)]!)
  for (let times = 1 + random.below(4); times > 0; times--) bytes = mutateOnce(random, bytes, corpus)
  return bytes.subarray(0, MAX_BYTES)
}

function mutateOnce(
  random: Random,
  bytes: Buffer<ArrayBuffer>,
  corpus: readonly Buffer[],
): Buffer<ArrayBuffer> {
  const at = random.below(bytes.length + 1)
  const end = Math.min(bytes.length, at + 1 + random.below(16))
  const before = bytes.subarray(0, at)
  const after = bytes.subarray(end)
  switch (random.below(6)) {
    case 0: {
      const changed = Buffer.from(bytes)
      if (at < changed.length) changed[at] = changed[at]! ^ (1 << random.below(8))
      return changed
    }
    case 1:
      return Buffer.concat([before, after])
    case 2:
      return Buffer.concat([before, Buffer.from(TOKENS[random.below(TOKENS.length)]!), bytes.subarray(at)])
    case 3:
      return Buffer.concat([before, Buffer.from(TOKENS[random.below(TOKENS.length)]!), after])
    case 4:
      return Buffer.concat([before, bytes.subarray(at, end), bytes.subarray(at)])
    default: {
      const other = corpus[random.below(corpus.length)]!
      return Buffer.concat([before, other.subarray(random.below(other.length + 1))])
    }
  }
}
