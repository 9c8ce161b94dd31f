/** How Vitest runs for one part under mutation testing (`MUTATION_PART`). It decides no score. */
import { matchesGlob } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { PARTS } from './folders.mjs'

const { tests } = PARTS[process.env.MUTATION_PART ?? '']!

/** In the order of the list: most mutants fail in a quick test. */
class Listed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = (file: TestSpecification) =>
      tests.findIndex(pattern => matchesGlob(file.moduleId, `**/${pattern}`))
    return files.sort((a, b) => place(a) - place(b))
  }
}

export default defineConfig({
  test: {
    include: [...tests],
    setupFiles: ['test/mutation/setup.ts'],
    sequence: { sequencer: Listed },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 5_000 } },
  },
})
