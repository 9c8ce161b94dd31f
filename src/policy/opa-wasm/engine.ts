/** The policy engine on `@open-policy-agent/opa-wasm`: reads, compiles and probes a bundle. `policy.ts` decides by it. */
import { type Bundle, DEFAULT_ENTRYPOINT, readBundle } from '../bundle.ts'
import type { OnPolicyFailure } from '../decision.ts'
import type { PolicyEngine, PolicyInput, PreparedPolicy } from '../engine.ts'
import { failureReporter } from '../report-failure.ts'
import { OpaWasmPolicy } from './policy.ts'
import { compile, type WasmModule } from './webassembly.ts'

export interface OpaWasmOptions {
  /** Which entrypoint of the bundle decides. Default `toolgate/decision`. */
  readonly entrypoint?: string
  /** CPU time of one evaluation; beyond it the decision is a denial with `unavailable`. Default 5. */
  readonly maxEvaluationMs?: number
  /** For one instance. Default 64 MiB. */
  readonly maxMemoryBytes?: number
  /** Default 100,000; beyond it, those of the oldest callers are evicted. */
  readonly maxCached?: number
  /** Called for each evaluation that failed; the decision is then a denial. */
  readonly onFailure?: OnPolicyFailure
  /** Gets the same, at most once a second. */
  readonly log?: { warn(fields: object, message: string): void }
}

const MIB = 1024 * 1024

/** Evaluated when a bundle is loaded: an operation that does not exist. */
const PROBE: PolicyInput = {
  subject: {
    type: 'anonymous',
    id: '',
    properties: { consumer: '', tenant: null, roles: [], scopes: [] },
  },
  action: { name: 'probe' },
  resource: { type: 'control', id: '', properties: { tenant: null } },
  context: { access: 'control', time: 0, plan: null },
}

export function createOpaWasmEngine(options: OpaWasmOptions = {}): PolicyEngine {
  return {
    async prepare(archive) {
      const bundle = readBundle(archive, options.entrypoint ?? DEFAULT_ENTRYPOINT)
      const module = await compileModule(bundle)
      return start(bundle, module, options)
    },
  }
}

async function compileModule(bundle: Bundle): Promise<WasmModule> {
  try {
    return await compile(bundle.wasm)
  } catch (error) {
    throw new Error(
      `the policy bundle cannot be used: its WebAssembly module cannot be compiled (${(error as Error).message})`,
    )
  }
}

function start(bundle: Bundle, module: WasmModule, options: OpaWasmOptions): PreparedPolicy {
  let policy: OpaWasmPolicy
  try {
    policy = new OpaWasmPolicy(bundle, module, {
      maxEvaluationMs: options.maxEvaluationMs ?? 5,
      maxMemoryBytes: options.maxMemoryBytes ?? 64 * MIB,
      maxResultBytes: MIB,
      maxCached: options.maxCached ?? 100_000,
      onFailure: failureReporter(options),
    })
  } catch (error) {
    throw new Error(`the policy bundle cannot be used: ${(error as Error).message}`)
  }
  const fault = policy.probe(PROBE)
  if (fault !== undefined) {
    policy.close()
    throw new Error(
      `the policy bundle cannot be used: "${bundle.entrypoint}" ${fault}; the entrypoint must return an object with the boolean allow and, optionally, reasons (a list of {code, message}) and obligations (an object)`,
    )
  }
  return policy
}
