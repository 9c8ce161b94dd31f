/** Joins a document with the files it refers to and its overlays, and compiles it; also decodes UTF-8. */
import type { BoundSecret } from '../../model/bound-secret.ts'
import type { ToolSet } from '../../model/tool-set.ts'
import { type CompileResult, compileToolSet, type ToolBounds } from '../compile/compile-tool-set.ts'
import { DocumentError } from '../compile/document.ts'
import { readOverlayDocument } from '../resource/overlays.ts'
import { applyOverlays, type NamedActions } from './apply-overlays.ts'
import { type LinkedFile, linkFiles } from './link-files.ts'
import { parseDocumentText } from './parse-document.ts'
import { specHash } from './spec-hash.ts'

/** A file that a document refers to: text or UTF-8, or why it cannot be used. */
export type GivenFile = string | Uint8Array | { readonly reason: string; readonly fix: string }

/** By address. */
export type GivenFiles = { readonly [uri: string]: GivenFile }

export interface LinkJob {
  /** Parsed. */
  readonly document: unknown
  /** Address of the document, the base of its references. */
  readonly uri?: string | undefined
  /** undefined: the document has no files. */
  readonly files?: GivenFiles | undefined
  readonly toolSet: ToolSet
  /** Base of relative servers. */
  readonly documentUrl?: string | undefined
  readonly credential?: BoundSecret | undefined
  /** The same hash is not compiled again. */
  readonly knownHash?: string | undefined
  /** The documents that `overlays` of the tool set refer to, in this order. */
  readonly overlayTexts?: readonly (string | Uint8Array)[] | undefined
  readonly bounds?: ToolBounds | undefined
}

/** The addresses of files that the document needs as well. */
export interface Incomplete {
  readonly kind: 'incomplete'
  readonly missing: readonly string[]
}

type LinkOutcome =
  | { readonly kind: 'compiled'; readonly specHash: string; readonly result: CompileResult }
  | { readonly kind: 'unchanged'; readonly specHash: string }
  | Incomplete

/** No address of a document that was given as text. */
const NO_ADDRESS = 'document:///document'
const NO_FILES: LinkedFile = {
  kind: 'fault',
  reason: 'the document cannot refer to other files',
  fix: 'join the files into one document with a bundler',
}

/** @throws DocumentError when the document as a whole is invalid */
export function compileLinked(job: LinkJob): LinkOutcome {
  const { uri = NO_ADDRESS } = job
  const files = new Map(Object.entries(job.files ?? {}).map(([address, file]) => [address, parseFile(file)]))
  const linked = linkFiles(
    job.document,
    uri,
    address => files.get(address) ?? (job.files && 'missing') ?? NO_FILES,
  )
  const { missing, unresolved, moreUnresolved } = linked
  if (missing.length > 0) return { kind: 'incomplete', missing }
  const overlaid = applyOverlays(linked.document, actionsOf(job))
  const { document } = overlaid
  const hash = specHash(document)
  if (hash === job.knownHash) return { kind: 'unchanged', specHash: hash }
  const { documentUrl, credential, bounds } = job
  const result = compileToolSet(document, job.toolSet, {
    unresolved,
    moreUnresolved,
    overlaid: overlaid.applied,
    unmatchedActions: overlaid.unmatched,
    ...(documentUrl === undefined ? {} : { documentUrl }),
    ...(credential === undefined ? {} : { credential }),
    ...(bounds === undefined ? {} : { bounds }),
  })
  return { kind: 'compiled', specHash: hash, result }
}

/** @throws DocumentError */
function actionsOf({ toolSet, overlayTexts = [] }: LinkJob): NamedActions[] {
  const texts = [...overlayTexts]
  return (toolSet.overlays ?? []).map((overlay, at) => {
    const label = `spec.overlays[${at}]`
    if (overlay.kind === 'inline') return { label, actions: overlay.actions }
    const actions = readOverlayDocument(overlayValue(texts.shift() ?? '', label), label)
    if (typeof actions === 'string') throw new DocumentError(actions)
    return { label, actions }
  })
}

function overlayValue(text: string | Uint8Array, label: string): unknown {
  try {
    return parseDocumentText(textOf(text))
  } catch (error) {
    throw error instanceof DocumentError ? new DocumentError(`${label}: ${error.message}`) : error
  }
}

function parseFile(file: GivenFile): LinkedFile {
  if (typeof file === 'object' && 'reason' in file) return { kind: 'fault', ...file }
  try {
    return { kind: 'value', value: parseDocumentText(textOf(file)) }
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    return { kind: 'fault', reason: error.message, fix: 'correct the referenced file' }
  }
}

/** @throws DocumentError when the bytes are not UTF-8 */
export function textOf(document: string | Uint8Array): string {
  if (typeof document === 'string') return document
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(document)
  } catch {
    throw new DocumentError('the document is not valid UTF-8: save it as UTF-8')
  }
}
