/** Names of the fields of the quota region by their addresses, read from the sources that define its layout. It reads no memory. */
import { readFileSync } from 'node:fs'
import type { QuotaRegion } from '../../src/data-plane/quota/memory/kernel.ts'
import { NAME_BYTES } from '../../src/data-plane/quota/memory/region.ts'
import { BUFFER_BYTES } from './recorder.ts'

export const LINE_BYTES = 64

export interface Field {
  /** `consumer.lock`, `header.sequence`. */
  readonly name: string
  /** Part of the memory: `header`, `consumer`, `bucket`, … */
  readonly part: string
  /** First byte of the slot, scratch area or region that the field belongs to. */
  readonly base: number
  /** Written and read by one thread only. */
  readonly isPrivate: boolean
}

/** Fields of a struct in the order of their offsets. */
export type FieldOffsets = readonly (readonly [offset: number, name: string])[]

const source = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const ABI = source('assembly/window-abi.ts')
const SLOTS = source('assembly/window-slot.ts')
const SIZES: Readonly<Record<string, number>> = { u8: 1, u16: 2, u32: 4, i32: 4, u64: 8, i64: 8 }

/** `HEAD_SEQUENCE: i32 = 8` → `[8, 'sequence']`. */
export function offsetsOf(prefix: string, text: string): FieldOffsets {
  const found = [...text.matchAll(new RegExp(`^export const ${prefix}_(\\w+)(?:: i32)? = (\\d+)$`, 'gm'))]
  return sorted(found.map(([, name, offset]) => [Number(offset), name!.toLowerCase()]))
}

/** The fields of a class of `assembly/window-slot.ts`, aligned as AssemblyScript aligns them, and its size. */
export function structOf(name: string): { readonly fields: FieldOffsets; readonly bytes: number } {
  const body = new RegExp(`^export class ${name} \\{\\n([\\s\\S]*?)^\\}`, 'm').exec(SLOTS)?.[1]
  if (body === undefined)
    throw new Error(`assembly/window-slot.ts has no class ${name}; adapt bench/contention/fields.ts`)
  const fields: [number, string][] = []
  let end = 0
  for (const [, field, type] of body.matchAll(/^ {2}(?:private )?(\w+): (\w+)$/gm)) {
    const size = SIZES[type!]!
    const at = Math.ceil(end / size) * size
    fields.push([at, field!])
    end = at + size
  }
  return { fields, bytes: end }
}

const HEADER = sorted([
  ...offsetsOf('HEAD', ABI).filter(
    ([, name]) => name !== 'consumers' && name !== 'tools' && name !== 'scratch',
  ),
  ...offsetsOf('HEAD', source('src/data-plane/quota/memory/region.ts')),
])
const TABLE = offsetsOf('TABLE', ABI)
const BUCKET = shared(structOf('Bucket').fields)
const { fields, bytes: fieldBytes } = structOf('Consumer')
const constant = (name: string): number => {
  const value = new RegExp(`^export const ${name}: i32 = (\\d+)$`, 'm').exec(ABI)?.[1]
  if (value === undefined)
    throw new Error(`assembly/window-abi.ts has no ${name}; adapt bench/contention/fields.ts`)
  return Number(value)
}
/** Of a consumer's slot. */
export const CONSUMER_BYTES = constant('CONSUMER_STRIDE')
const RING_STEPS = constant('RING_STEPS')
export const CONSUMER: FieldOffsets = sorted([
  ...shared(fields),
  [fieldBytes, 'secondCounts'],
  [fieldBytes + RING_STEPS, 'minuteCounts'],
])

/** What stands at an address. Arenas, and memories of one thread, are `private`. */
export function fieldAt(address: number, { base, plan }: Pick<QuotaRegion, 'base' | 'plan'>): Field {
  if (address >= BUFFER_BYTES)
    return { name: 'policy.epoch', part: 'policy', base: address, isPrivate: false }
  const at = address - base
  if (at < 0 || at >= plan.bytes) return { name: 'arena', part: 'arena', base: address, isPrivate: true }
  const [consumers, tools, scratch] = ['HEAD_CONSUMERS', 'HEAD_TOOLS', 'HEAD_SCRATCH'].map(constant) as [
    number,
    number,
    number,
  ]
  const inTable = (start: number, part: string): Field | undefined =>
    at >= start && at < start + LINE_BYTES ? field(part, base + start, TABLE, at - start) : undefined
  const found = inTable(consumers, 'consumers') ?? inTable(tools, 'tools')
  if (found !== undefined) return found
  if (at < scratch) return field('header', base, HEADER, at)
  const slots = (
    part: string,
    start: number,
    count: number,
    stride: number,
    names: FieldOffsets,
  ): Field | undefined => {
    if (at < start || at >= start + count * stride) return undefined
    const first = start + Math.floor((at - start) / stride) * stride
    return field(part, base + first, names, at - first)
  }
  return (
    slots('consumer', plan.consumerSlots, plan.consumers, CONSUMER_BYTES, CONSUMER) ??
    slots('bucket', plan.toolSlots, plan.toolBuckets, constant('BUCKET_STRIDE'), BUCKET) ??
    slots('names', plan.names, plan.listed, NAME_BYTES, [[0, 'name']]) ??
    slots('consumer-index', plan.consumerIndex, (plan.consumerSlots - plan.consumerIndex) / 4, 4, [
      [0, 'entry'],
    ]) ??
    slots('tool-index', plan.toolIndex, (plan.toolSlots - plan.toolIndex) / 4, 4, [[0, 'entry']]) ?? {
      name: 'scratch',
      part: 'scratch',
      base: base + scratch,
      isPrivate: true,
    }
  )
}

function field(part: string, base: number, names: FieldOffsets, at: number): Field {
  const name = names.findLast(([offset]) => offset <= at)?.[1] ?? `+${at}`
  return { name: `${part}.${name}`, part, base, isPrivate: false }
}

/** Placeholders of one struct (`shared24`, `own28`) have their names in the struct that both begin with. */
function shared(of: FieldOffsets): FieldOffsets {
  const common = new Map(structOf('Slot').fields)
  const named = new Map([...common].filter(([, name]) => !/^own\d/.test(name)))
  for (const [offset, name] of of) if (!/^(shared|own)\d/.test(name)) named.set(offset, name)
  return sorted([...named])
}

function sorted(list: readonly (readonly [number, string])[]): FieldOffsets {
  return [...list].sort(([a], [b]) => a - b)
}
