/** SHA-256 digests of the parts of a document, each computed once per object: parts are never written to. It knows no format. */

import { createHash } from 'node:crypto'
import { oncePer } from '../model/once-per.ts'

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** @param textOf equal parts give equal texts */
export function digestCache(textOf: (part: object) => string): (part: object) => string {
  return oncePer(part => sha256(textOf(part)))
}
