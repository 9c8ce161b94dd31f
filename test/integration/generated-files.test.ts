/** Files that follow from the schemas of resources are those that the schemas say. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
// @ts-expect-error a script without types
import { generateFiles } from '../../scripts/generate.mjs'

it('are up to date; npm run generate writes them', async () => {
  for (const [path, text] of Object.entries<string>(await generateFiles())) {
    const read = path.endsWith('.json') ? JSON.parse : String
    expect(read(readFileSync(path, 'utf8')), path).toEqual(read(text))
  }
})
