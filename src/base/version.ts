/** The version of the product, read from package.json. */
import { readFileSync } from 'node:fs'

export const VERSION: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version
