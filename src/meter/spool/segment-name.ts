/** Names of segments: when it was begun, by which writer, the number of its first event. They sort by age. It touches no file. */

export interface SegmentName {
  readonly name: string
  /** Unix ms. */
  readonly begunAtMs: number
  /** 16 hex digits; see `newWriterName`. */
  readonly writer: string
  /** Number of the first frame. */
  readonly first: number
}

const PATTERN = /^(\d{14})-([0-9a-f]{16})-(\d{10})\.events$/

export function segmentName(begunAtMs: number, writer: string, first: number): string {
  return `${String(begunAtMs).padStart(14, '0')}-${writer}-${String(first).padStart(10, '0')}.events`
}

/** undefined: not one of ours. */
export function parseSegmentName(name: string): SegmentName | undefined {
  const match = PATTERN.exec(name)
  if (match === null) return undefined
  return { name, begunAtMs: Number(match[1]), writer: match[2]!, first: Number(match[3]) }
}
