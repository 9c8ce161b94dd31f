/** How Vitest runs for one part under mutation testing (`MUTATION_PART`). */
import { matchesGlob } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { PARTS } from './folders.mjs'
import { keptThread } from './kept-thread.ts'

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
  plugins: [
    {
      name: 'kept-thread',
      // Stryker sets the pool by an option that takes precedence over this file
      configureVitest: ({ project, vitest }) => {
        Object.assign(project.config, { pool: keptThread.name, poolRunner: keptThread })
        vitest.onClose(async () => keptThread.close())
      },
    },
  ],
  test: {
    include: [...tests],
    isolate: false,
    setupFiles: ['test/mutation/setup.ts'],
    sequence: { sequencer: Listed },
    // a test that hangs has noticed its mutant: without these limits Stryker would end the process, which costs seconds
    testTimeout: 8_000,
    hookTimeout: 15_000,
    expect: { poll: { timeout: 3_000 } },
  },
})
