/** Computes the SHA-256 of a parsed document from its JSON with sorted keys. */
import { createHash, type Hash } from 'node:crypto'
import { ExactNumber } from '../../base/json/exact-number.ts'

/** Hex. The value must come from `parseDocumentText`, which limits its depth. */
export function specHash(value: unknown): string {
  const sink = new Sink()
  write(value, sink)
  return sink.digest()
}

/** Buffers small pieces, to build neither a huge string nor update the hash for each character. */
class Sink {
  readonly #hash: Hash = createHash('sha256')
  #pending = ''

  add(piece: string): void {
    this.#pending += piece
    if (this.#pending.length > 65_536) this.#flush()
  }

  digest(): string {
    this.#flush()
    return this.#hash.digest('hex')
  }

  #flush(): void {
    this.#hash.update(this.#pending)
    this.#pending = ''
  }
}

function write(value: unknown, sink: Sink): void {
  if (value === null || typeof value !== 'object') {
    sink.add(JSON.stringify(value) ?? 'null')
    return
  }
  if (value instanceof ExactNumber) return sink.add(value.canonical)
  if (Array.isArray(value)) {
    sink.add('[')
    for (let i = 0; i < value.length; i++) {
      if (i > 0) sink.add(',')
      write(value[i], sink)
    }
    sink.add(']')
    return
  }
  const record = value as Record<string, unknown>
  let first = true
  sink.add('{')
  for (const key of Object.keys(record).sort()) {
    if (record[key] === undefined) continue
    sink.add(`${first ? '' : ','}${JSON.stringify(key)}:`)
    first = false
    write(record[key], sink)
  }
  sink.add('}')
}
