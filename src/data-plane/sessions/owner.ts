/** The owner of a session as a short hash that an id can contain, and its user as a longer one. */

import { createHash } from 'node:crypto'
import { oncePer } from '../../base/once-per.ts'
import type { Principal } from '../../model/principal.ts'

/** The same for every client of one user: 64 hex digits over tenant and subject. */
export const userKeyOf = oncePer(({ tenant, subject }: Principal): string =>
  createHash('sha256')
    .update(JSON.stringify([tenant ?? null, subject]))
    .digest('hex'),
)

/** 16 hex digits over tenant, subject and consumer: the same for every token of one caller. */
export const ownerOf = oncePer(({ tenant, subject, consumer }: Principal): string =>
  createHash('sha256')
    .update(JSON.stringify([tenant ?? null, subject, consumer]))
    .digest('hex')
    .slice(0, 16),
)
