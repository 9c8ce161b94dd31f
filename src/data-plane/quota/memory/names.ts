/** Names of the consumers in the listed slots of the table, in memory that threads share. */
import { NAME_BYTES, type RegionPlan } from './region.ts'

const CUT = '…'

export class NameDirectory {
  readonly #bytes: Buffer
  readonly #listed: number

  constructor(memory: WebAssembly.Memory, base: number, plan: RegionPlan) {
    this.#bytes = Buffer.from(memory.buffer, base + plan.names, plan.listed * NAME_BYTES)
    this.#listed = plan.listed
  }

  /** Called by the thread whose call created the slot. Slots beyond the listed ones have no name. */
  write(slot: number, key: string): void {
    if (slot >= this.#listed) return
    const name = fits(key) ? key : `${cut(key)}${CUT}`
    const at = slot * NAME_BYTES
    const written = this.#bytes.write(name, at + 1, NAME_BYTES - 1, 'utf8')
    this.#bytes[at] = written
  }

  /** undefined for a slot without a name; a name longer than 127 bytes ends in `…`. */
  read(slot: number): string | undefined {
    if (slot >= this.#listed) return undefined
    const at = slot * NAME_BYTES
    const length = this.#bytes[at]!
    return length === 0 ? undefined : this.#bytes.toString('utf8', at + 1, at + 1 + length)
  }
}

function fits(key: string): boolean {
  return Buffer.byteLength(key) < NAME_BYTES
}

/** As many whole characters as fit before the mark. */
function cut(key: string): string {
  let kept = ''
  for (const character of key) {
    if (Buffer.byteLength(kept) + Buffer.byteLength(character) + Buffer.byteLength(CUT) >= NAME_BYTES) break
    kept += character
  }
  return kept
}
