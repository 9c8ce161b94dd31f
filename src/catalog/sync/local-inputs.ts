/** The local inputs of a synchronization, and fingerprints that show when inputs change. */
import { createHash } from 'node:crypto'
import { writeJson } from '../../base/json/exact-number.ts'
import type { BoundSecret } from '../../model/bound-secret.ts'
import type { ToolSet } from '../../model/tool-set.ts'
import type { FileLoader } from './load-files.ts'

/** What is read locally beside a document of an address. */
export interface LocalInputs {
  readonly credential: BoundSecret | undefined
  /** Overlay texts of `spec.overlays`, in this order. */
  readonly overlayTexts: readonly (string | Uint8Array)[]
}

export interface Local extends LocalInputs {
  readonly document: string | Uint8Array | undefined
}

/** Hash of all inputs of a compilation except the document. */
export function fingerprint(
  toolSet: ToolSet,
  documentUrl: string | undefined,
  { credential, overlayTexts }: LocalInputs,
): string {
  const hash = createHash('sha256').update(writeJson([toolSet, documentUrl ?? null, credential ?? null]))
  for (const text of overlayTexts) hash.update(`${text.length}\n`).update(text)
  return hash.digest('hex')
}

export function localFingerprint(local: Local, { files, requested }: FileLoader): string {
  const { document, credential, overlayTexts } = local
  const hash = createHash('sha256')
    .update(document ?? '')
    .update(JSON.stringify([document === undefined, credential ?? null]))
  for (const text of overlayTexts) hash.update(`${text.length}\n`).update(text)
  for (const uri of [...requested].sort()) {
    const file = files[uri]!
    const isContent = typeof file === 'string' || file instanceof Uint8Array
    hash.update(JSON.stringify(uri)).update(isContent ? file : JSON.stringify(file))
  }
  return hash.digest('hex')
}
