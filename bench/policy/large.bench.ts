/** A decision with 1,000 rules and 10,000 role bindings beside one of the shipped policy. Needs `opa`, and installs it where it is missing. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { requireOpa } from '../../src/app/cli/policy/programs.ts'
import type { PolicyInput, PreparedPolicy } from '../../src/policy/engine.ts'
import { createOpaWasmEngine } from '../../src/policy/opa-wasm/engine.ts'
import { buildBundle } from '../../src/policy/workshop/build.ts'
import type { BenchCase, Suite } from '../suite.ts'

const POLICIES = fileURLToPath(new URL('../../policies', import.meta.url))
const RULES = 1000
const BINDINGS = 10_000
const TOOLS = 50

const engine = createOpaWasmEngine({ maxEvaluationMs: 100 })

/** The shipped policies, a rule for each of 1,000 tools and 10,000 more roles. */
async function largeBundle(): Promise<Uint8Array> {
  const dir = mkdtempSync(join(tmpdir(), 'policy-large-'))
  try {
    cpSync(POLICIES, dir, { recursive: true })
    for (let n = 0; n < RULES; n++) {
      mkdirSync(join(dir, `toolgate/tools/tool_${n}`), { recursive: true })
      writeFileSync(join(dir, `toolgate/tools/tool_${n}/tool_${n}.rego`), ruleOf(n))
    }
    const roles = Array.from({ length: BINDINGS }, (_, n) => `role-${n}: [execute, scope-${n % 50}]\n`)
    writeFileSync(join(dir, 'toolgate/roles/data.yaml'), roles.join(''), { flag: 'a' })
    const trial = async (bundle: Uint8Array) => (await engine.prepare(bundle)).close()
    const opa = await requireOpa('.tools/bin', process.env, line => process.stderr.write(`${line}\n`))
    return (await buildBundle({ dir, opa, env: process.env, trial })).archive
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

function ruleOf(n: number): string {
  return `package toolgate.tools.tool_${n}

# METADATA
# title: Team ${n}
# custom:
#   reason_code: team_${n}
deny contains {"code": code, "message": "This is for team ${n}."} if {
	not "team-${n}" in input.subject.properties.roles
	code := rego.metadata.rule().custom.reason_code
}
`
}

/** Tools that have a rule in the large policy; the caller is in the team of each. */
function inputOf(tool: number): PolicyInput {
  const properties = {
    consumer: 'agent',
    tenant: 'acme',
    roles: Object.freeze([`role-${tool * 7}`, `team-${tool}`]),
    scopes: Object.freeze(['read']),
  }
  return {
    subject: {
      type: 'token',
      id: 'agent',
      properties: tool % 2 === 0 ? properties : { ...properties, scopes: Object.freeze(['execute']) },
    },
    action: { name: 'tools.call' },
    resource: {
      type: 'tool',
      id: `tool_${tool}`,
      properties: {
        tenant: null,
        toolSet: 'shop',
        tags: ['orders'],
        annotations: {
          readOnlyHint: true,
          destructiveHint: false,
          idempotentHint: true,
          openWorldHint: true,
        },
      },
    },
    context: { access: 'jsonrpc', time: 1_790_000_000_000, plan: 'community', arguments: { id: tool } },
  }
}

function evaluated(id: string, policy: PreparedPolicy, allows: (tool: number) => boolean): BenchCase {
  const inputs = Array.from({ length: TOOLS }, (_, tool) => inputOf(tool))
  return {
    id,
    perRun: TOOLS,
    prepare: () => void policy.clearCache(),
    run() {
      for (const [tool, input] of inputs.entries()) {
        const decision = policy.decide(input, `caller-${tool}`, tool)
        if (decision instanceof Promise || decision.allow !== allows(tool) || decision.unavailable === true)
          throw new Error(`a wrong decision about tool_${tool}: ${JSON.stringify(decision)}`)
      }
    },
  }
}

const suite: Suite = {
  id: 'policy/large',
  title: '1,000 rules and 10,000 role bindings, beside the shipped policy, evaluated each time',
  async cases() {
    const shipped = await engine.prepare(readFileSync(join(POLICIES, 'bundle.tar.gz')))
    const large = await engine.prepare(await largeBundle())
    // in the shipped policy the roles bring nothing
    return [
      evaluated('shipped', shipped, tool => tool % 2 === 1),
      evaluated('1000-rules-10000-bindings', large, () => true),
    ]
  },
}

export default suite
