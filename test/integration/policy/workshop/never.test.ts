/** Rules that can never deny are named with the reason; rules that can are left alone. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inspectRules } from '../../../../src/policy/workshop/annotations.ts'
import { type RunOpa, rulesThatNeverMatch } from '../../../../src/policy/workshop/never.ts'
import { findOpa, OPA_VERSION, runProgram } from '../../../../src/policy/workshop/opa.ts'
import { readSources } from '../../../../src/policy/workshop/sources.ts'

const POLICIES = fileURLToPath(new URL('../../../../policies', import.meta.url))
const opa = await findOpa(fileURLToPath(new URL('../../../../.tools/bin', import.meta.url)), process.env)
const missing = opa === undefined && process.env.REQUIRE_SERVICES !== '1'

describe.skipIf(missing)(
  `with opa ${OPA_VERSION} (npm run policy:test installs it)`,
  { timeout: 60_000 },
  () => {
    let dir = ''
    beforeEach(() => {
      if (opa === undefined) throw new Error(`opa ${OPA_VERSION} is neither on the PATH nor in .tools/bin`)
      dir = mkdtempSync(join(tmpdir(), 'policies-'))
      cpSync(POLICIES, dir, { recursive: true })
    })
    afterEach(() => rmSync(dir, { recursive: true, force: true }))

    async function reach(conditions: string): Promise<string> {
      const path = join(dir, 'toolgate/rules/mine/mine.rego')
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(
        path,
        `# METADATA\n# title: Mine\n# description: Mine.\npackage toolgate.rules.mine\n\n# METADATA\n# title: Mine\n# custom:\n#   reason_code: mine\ndeny contains {"code": code, "message": "No."} if {\n\t${conditions}\n\tcode := rego.metadata.rule().custom.reason_code\n}\n`,
      )
      const runOpa: RunOpa = (cwd, args) => runProgram(opa!, args, { cwd, env: process.env })
      const { coded } = inspectRules((await runOpa(dir, ['inspect', '-a', '-f', 'json', '.'])).stdout)
      return (await rulesThatNeverMatch(readSources(dir), coded, runOpa)).join('\n')
    }

    it.each([
      [
        'an operation that is misspelt',
        'input.action.name == "tools.cal"',
        'input.action.name is never "tools.cal"',
      ],
      ['a type there is not', '"gadget" == input.resource.type', 'input.resource.type is never "gadget"'],
      [
        'two things at once',
        'input.action.name == "tools.call"\n\tinput.action.name == "tools.list"',
        'input.action.name would have to be "tools.call" and "tools.list" at once',
      ],
      [
        'data that does not have it',
        '"ghost" in object.keys(data.toolgate.roles)\n\tinput.action.name == "tools.call"',
        'with the current data, the conditions of the rule do not hold for any input',
      ],
    ])('%s', async (_, conditions, why) => {
      expect(await reach(conditions)).toBe(`toolgate/rules/mine/mine.rego:10 can never deny: ${why}.`)
    })

    it.each([
      ['a plain condition', 'input.action.name == "tools.call"'],
      ['a type that only MCP has', 'input.resource.type == "prompt"'],
      ['an argument', 'input.context.arguments.amount > 500'],
      ['a role that only the provider knows', '"finance" in input.subject.properties.roles'],
      ['a negation', 'not input.action.name == "tools.cal"'],
      ['everything', 'input.action.name'],
    ])('%s is left alone', async (_, conditions) => {
      expect(await reach(conditions)).toBe('')
    })
  },
)
