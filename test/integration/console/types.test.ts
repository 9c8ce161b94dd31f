/** The types of the control plane that the console uses are those of the OpenAPI document that is served. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
// @ts-expect-error a script without types
import { generateTypes } from '../../../scripts/console-types.mjs'

it('are generated from the current document; npm run console:types writes them', async () => {
  const path = new URL('../../../console/src/api/control-plane.generated.ts', import.meta.url)
  expect(readFileSync(path, 'utf8')).toBe(await generateTypes())
})
