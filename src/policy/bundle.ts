/** Reads a policy bundle from a tar.gz: its manifest, data, WebAssembly module and rules. */
import { isObject } from '../base/json/is-object.ts'
import { type ArchiveLimits, unpack } from './archive.ts'
import { READS_ALL, type Reads, readsOf } from './reads.ts'

export interface Bundle {
  /** From the manifest; policy:build writes the hash of the sources there. */
  readonly revision: string
  readonly wasm: Uint8Array
  /** data.json: roles and the like. */
  readonly data: unknown
  /** Slash separated, as the manifest names it: `toolgate/decision`. */
  readonly entrypoint: string
  /** What METADATA `custom.reads` of the entrypoint declares; everything when it declares nothing. */
  readonly reads: Reads
  /** What policy:build found that it reads; undefined in a bundle that was built in another way. */
  readonly readsFound: Reads | undefined
  /** Rules by what they deny with, for explanations; empty in a bundle that was built in another way. */
  readonly rules: readonly BundleRule[]
}

/** Where a reason code comes from. */
export interface BundleRule {
  readonly code: string
  readonly title: string
  /** Within `policies/`. */
  readonly file: string
  readonly line: number
  /** The file of the rule looks at arguments: while a tool is only being listed, what it says is not known. */
  readonly readsArguments?: boolean
}

export const BUNDLE_LIMITS: ArchiveLimits = Object.freeze({
  maxCompressedBytes: 16 * 1024 * 1024,
  maxBytes: 64 * 1024 * 1024,
})

export const DEFAULT_ENTRYPOINT = 'toolgate/decision'

/**
 * @param entrypoint which of the bundle's entrypoints decides.
 * @throws Error beginning with "the policy bundle", with what is wrong and how to fix it.
 */
export function readBundle(archive: Uint8Array, entrypoint: string = DEFAULT_ENTRYPOINT): Bundle {
  try {
    return read(unpack(archive, BUNDLE_LIMITS), entrypoint)
  } catch (error) {
    throw new Error(
      `the policy bundle cannot be used: ${(error as Error).message}. Build it with \`toolgate policy build\`.`,
    )
  }
}

function read(files: ReadonlyMap<string, Uint8Array>, entrypoint: string): Bundle {
  const manifest = record(json(files, '.manifest'), '.manifest')
  const resolvers = manifest.wasm
  if (!Array.isArray(resolvers) || resolvers.length === 0) {
    throw new Error('.manifest names no WebAssembly module (was the bundle built without `-t wasm`?)')
  }
  const entries = resolvers.map(one => record(one, 'an entry of the field wasm in .manifest'))
  const entry = entries.find(one => one.entrypoint === entrypoint)
  if (entry === undefined) {
    const others = entries.map(one => String(one.entrypoint)).join(', ')
    throw new Error(`the bundle has no entrypoint "${entrypoint}", only ${others}`)
  }
  const module = typeof entry.module === 'string' ? entry.module.replace(/^\//, '') : 'policy.wasm'
  const wasm = files.get(module)
  if (wasm === undefined) throw new Error(`.manifest names "${module}", but the bundle does not contain it`)
  const built = isObject(manifest.metadata) ? manifest.metadata.toolgate : undefined
  return {
    revision: typeof manifest.revision === 'string' ? manifest.revision : '',
    wasm,
    data: files.has('data.json') ? json(files, 'data.json') : {},
    entrypoint,
    reads: declaredReads(entry.annotations),
    readsFound: isObject(built) && isStrings(built.reads) ? readsOf(built.reads) : undefined,
    rules: isObject(built) && Array.isArray(built.rules) ? built.rules.filter(isRule) : [],
  }
}

/** METADATA of the entrypoint, which `opa build` copies into the manifest. */
function declaredReads(annotations: unknown): Reads {
  for (const annotation of Array.isArray(annotations) ? annotations : []) {
    const reads = isObject(annotation) && isObject(annotation.custom) ? annotation.custom.reads : undefined
    if (reads === undefined) continue
    if (!isStrings(reads)) throw new Error('custom.reads of the entrypoint is not a list of paths')
    return readsOf(reads)
  }
  return READS_ALL
}

function json(files: ReadonlyMap<string, Uint8Array>, name: string): unknown {
  const content = files.get(name)
  if (content === undefined) throw new Error(`"${name}" is missing`)
  try {
    return JSON.parse(Buffer.from(content).toString('utf8'))
  } catch {
    throw new Error(`"${name}" is not valid JSON`)
  }
}

function record(value: unknown, what: string): Record<string, unknown> {
  if (!isObject(value)) throw new Error(`${what} is not an object`)
  return value
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(one => typeof one === 'string')
}

function isRule(value: unknown): value is BundleRule {
  return (
    isObject(value) &&
    typeof value.code === 'string' &&
    typeof value.title === 'string' &&
    typeof value.file === 'string' &&
    typeof value.line === 'number'
  )
}
