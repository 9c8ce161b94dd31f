/** Inputs that once failed, and 300 seeded mutations for each target. Unlike `npm run fuzz` it measures no coverage. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { seeded } from '../chaos/random.ts'
import { failureOf } from './fuzz.ts'
import { mutate } from './mutate.ts'
import { TARGETS } from './targets.ts'

const SEED = 17
const INPUTS = 300
const CORPUS = join(import.meta.dirname, 'corpus')

describe.each(Object.entries(TARGETS))('%s', (name, target) => {
  const folder = join(CORPUS, name)
  const saved = existsSync(folder) ? readdirSync(folder) : []

  it(`holds for ${saved.length} saved inputs`, () => {
    for (const file of saved)
      expect(failureOf(target, readFileSync(join(folder, file))), file).toBeUndefined()
  })

  it(`holds for ${INPUTS} mutations of seed ${SEED}`, () => {
    const random = seeded(SEED)
    const corpus = target.seeds.map(text => Buffer.from(text))
    for (let at = 0; at < INPUTS; at++) {
      const input = mutate(random, corpus)
      expect(failureOf(target, input), JSON.stringify(input.toString('latin1'))).toBeUndefined()
    }
  })
})
