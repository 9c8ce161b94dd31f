/** A decision: cached, evaluated, and evaluated by opa-wasm as it comes and by Cedar. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { principal } from '../../src/model/principal.ts'
import { readBundle } from '../../src/policy/bundle.ts'
import type { Decision, PolicyInput, PreparedPolicy } from '../../src/policy/engine.ts'
import { createOpaWasmEngine } from '../../src/policy/opa-wasm/engine.ts'
import type { BenchCase, Suite } from '../suite.ts'
import { cedar } from './cedar.ts'

const BUNDLE = readFileSync(new URL('../../policies/bundle.tar.gz', import.meta.url))
const CALLERS = 1000
const TOOLS = 50

interface Caller {
  readonly key: string
  readonly subject: PolicyInput['subject']
}

function callerOf(index: number, roles: readonly string[], scopes: readonly string[]): Caller {
  const who = principal({
    kind: 'token',
    subject: `agent-${index}`,
    consumer: `agent-${index}`,
    tenant: `tenant-${index}`,
    roles,
    scopes,
    subscriptionId: undefined,
    expiresAtMs: 0,
  })
  const properties = {
    consumer: who.consumer,
    tenant: who.tenant ?? null,
    roles: who.roles,
    scopes: who.scopes,
  }
  return { key: who.visibilityKey, subject: { type: 'token', id: who.subject, properties } }
}

/** A call as the pipeline asks about it: all facts, the arguments too. */
function inputOf(caller: Caller, tool: number): PolicyInput {
  return {
    subject: caller.subject,
    action: { name: 'tools.call' },
    resource: {
      type: 'tool',
      id: `get_order_${tool}`,
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
    context: {
      access: 'jsonrpc',
      time: 1_790_000_000_000,
      plan: 'community',
      arguments: { orderId: `o-${tool}` },
    },
  }
}

function expectAllowed(decision: Decision | Promise<Decision>, allow: boolean): void {
  if (decision instanceof Promise || decision.allow !== allow || decision.unavailable === true) {
    throw new Error(`a wrong decision: ${JSON.stringify(decision)}`)
  }
}

function cached(id: string, policy: PreparedPolicy, callers: readonly Caller[]): BenchCase {
  const asked = callers.flatMap(caller =>
    [0, 1, 2].map(tool => ({ caller, tool, input: inputOf(caller, tool) })),
  )
  for (const { caller, tool, input } of asked) policy.decide(input, caller.key, tool)
  let at = 0
  return {
    id,
    perRun: 1000,
    run() {
      for (let i = 0; i < 1000; i++) {
        const { caller, tool, input } = asked[at++ % asked.length]!
        expectAllowed(policy.decide(input, caller.key, tool), true)
      }
    },
  }
}

function evaluated(id: string, policy: PreparedPolicy, caller: Caller, allow: boolean): BenchCase {
  const inputs = Array.from({ length: TOOLS }, (_, tool) => inputOf(caller, tool))
  return {
    id,
    perRun: TOOLS,
    // what is cached would not be evaluated
    prepare: () => void policy.clearCache(),
    run() {
      for (let tool = 0; tool < TOOLS; tool++)
        expectAllowed(policy.decide(inputs[tool]!, caller.key, tool), allow)
    },
  }
}

/** The library's own way, with the whole input: the reference. */
function asItComes(caller: Caller): BenchCase {
  const opa = createRequire(import.meta.url)('@open-policy-agent/opa-wasm') as {
    loadPolicySync(wasm: Uint8Array): {
      setData(data: unknown): void
      evaluate(input: unknown): { result: Decision }[]
    }
  }
  const { wasm, data } = readBundle(BUNDLE)
  const policy = opa.loadPolicySync(new Uint8Array(wasm))
  policy.setData(data)
  const inputs = Array.from({ length: TOOLS }, (_, tool) => inputOf(caller, tool))
  return {
    id: 'evaluated/opa-wasm-as-it-comes',
    perRun: TOOLS,
    run() {
      for (const input of inputs) expectAllowed(policy.evaluate(input)[0]!.result, true)
    },
  }
}

/** Another engine, its policies parsed once: what a question costs there. */
function byCedar(caller: Caller): BenchCase {
  const allows = cedar()
  const inputs = Array.from({ length: TOOLS }, (_, tool) => inputOf(caller, tool))
  return {
    id: 'evaluated/cedar-wasm',
    perRun: TOOLS,
    run() {
      for (const input of inputs) if (!allows(input)) throw new Error('a wrong decision')
    },
  }
}

const suite: Suite = {
  id: 'policy/decision',
  title: 'one decision of the shipped policy: may this caller call this tool?',
  async cases() {
    const policy = await createOpaWasmEngine({ maxCached: 1_000_000 }).prepare(BUNDLE)
    const agent = callerOf(0, [], ['execute', 'read'])
    const many = Array.from({ length: CALLERS }, (_, index) => callerOf(index, [], ['execute', 'read']))
    const fresh = await createOpaWasmEngine().prepare(BUNDLE)
    return [
      cached('remembered/one-caller', policy, [agent]),
      cached('remembered/1000-callers', policy, many),
      evaluated('evaluated/allowed-by-scope', fresh, agent, true),
      evaluated(
        'evaluated/allowed-by-role',
        fresh,
        callerOf(1, ['cpi-admin', 'offline_access'], ['openid']),
        true,
      ),
      evaluated('evaluated/denied', fresh, callerOf(2, ['viewer'], []), false),
      asItComes(agent),
      byCedar(agent),
    ]
  },
}

export default suite
