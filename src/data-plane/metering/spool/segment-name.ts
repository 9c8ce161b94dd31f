/** File names of segments, their parsing and their order. */

export interface SegmentName {
  /** The same while it grows and afterwards. */
  readonly key: string
  /** File of the file. */
  readonly file: string
  /** The writer may append. */
  readonly growing: boolean
  /** 16 hex digits; see `newWriterName`. */
  readonly writer: string
  /** Number of the first frame. */
  readonly first: number
}

const PATTERN = /^(\d{14}-([0-9a-f]{16})-(\d{10}))\.(open|events)$/

/** @param begunAtMs Unix ms @returns the key */
export function segmentKey(begunAtMs: number, writer: string, first: number): string {
  return `${String(begunAtMs).padStart(14, '0')}-${writer}-${String(first).padStart(10, '0')}`
}

export function segmentFile(key: string, growing: boolean): string {
  return `${key}.${growing ? 'open' : 'events'}`
}

/** undefined: not the name of a segment. */
function parseSegmentFile(file: string): SegmentName | undefined {
  const match = PATTERN.exec(file)
  if (match === null) return undefined
  return { key: match[1]!, file, growing: match[4] === 'open', writer: match[2]!, first: Number(match[3]) }
}

/** Segments among the files of a directory, oldest first. */
export function segmentsAmong(files: readonly string[]): SegmentName[] {
  const byKey = new Map<string, SegmentName>()
  for (const file of files) {
    const segment = parseSegmentFile(file)
    // listed under both names: it was renamed while the directory was read
    if (segment !== undefined && byKey.get(segment.key)?.growing !== false) byKey.set(segment.key, segment)
  }
  return [...byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
}
