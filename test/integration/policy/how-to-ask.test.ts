/** The how-to page about questions, followed to the letter: it passes every check, asks, and judges the results. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { questionsOf } from '../../../src/data-plane/stages/shared/questions.ts'
import { createOpaWasmEngine } from '../../../src/policy/opa-wasm/engine.ts'
import { OPA_VERSION } from '../../../src/policy/workshop/opa.ts'
import { Author, opa, regal } from '../../fixtures/policy/author.ts'
import { inputOf } from '../../fixtures/policy/inputs.ts'

const missing = (opa === undefined || regal === undefined) && process.env.REQUIRE_SERVICES !== '1'

describe.skipIf(missing)(`with opa ${OPA_VERSION} and regal (npm run policy:test installs them)`, () => {
  let author: Author
  beforeEach(() => {
    if (opa === undefined || regal === undefined) throw new Error('opa or regal is not in .tools/bin')
    author = new Author()
  })
  afterEach(() => author?.leave())

  it('ask the client: asked before, and judged by the results', { timeout: 60_000 }, async () => {
    author.follow('ask-the-client')
    expect(await author.faults()).toEqual([])
    const { archive, cacheable } = await author.build()
    expect(cacheable).toBe(false)
    const policy = await createOpaWasmEngine({ maxEvaluationMs: 500 }).prepare(archive)
    const decide = (context: object) =>
      policy.decide(
        inputOf({
          resource: { annotations: { destructiveHint: true, readOnlyHint: false } },
          caller: { scopes: ['execute', 'write'] },
          context,
        }),
        'caller',
        1,
      )
    const answers = (text: string) => ({ answers: { reason: { action: 'accept', content: { text } } } })
    const before = await decide({})
    expect(before.allow).toBe(true)
    expect(questionsOf(before.obligations?.ask)).toMatchObject({ reason: { method: 'elicitation/create' } })
    expect(await decide(answers('ordered twice'))).toMatchObject({ allow: true })
    expect(await decide(answers('because'))).toMatchObject({
      allow: false,
      reasons: [{ code: 'reason_too_short' }],
    })
  })
})
