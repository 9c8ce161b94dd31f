/** SHA-256 digests of the parts of a document, each computed once per object: parts are never written to. It knows no format. */
import { createHash } from 'node:crypto'

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** @param textOf equal parts give equal texts */
export function digestCache(textOf: (part: object) => string): (part: object) => string {
  const digests = new WeakMap<object, string>()
  return part => {
    let digest = digests.get(part)
    if (digest === undefined) {
      digest = sha256(textOf(part))
      digests.set(part, digest)
    }
    return digest
  }
}
