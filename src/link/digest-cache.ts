/** SHA-256 digests of texts, and digests of objects that are cached with the object. The caller chooses the text of an object. */

import { createHash } from 'node:crypto'
import { oncePer } from '../base/once-per.ts'

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** @param textOf equal parts give equal texts */
export function digestCache(textOf: (part: object) => string): (part: object) => string {
  return oncePer(part => sha256(textOf(part)))
}
