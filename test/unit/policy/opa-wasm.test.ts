/** The engine on opa-wasm: what it refuses to load, what it caches, and that whatever goes wrong while deciding is a denial. */
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { PolicyFailure } from '../../../src/policy/decision.ts'
import type { PreparedPolicy } from '../../../src/policy/engine.ts'
import { createOpaWasmEngine, type OpaWasmOptions } from '../../../src/policy/opa-wasm/engine.ts'
import { altered, inputOf, MISBEHAVING, manifestWith, SHIPPED } from '../../fixtures/policy/inputs.ts'

let opened: PreparedPolicy | undefined
afterEach(() => opened?.close())

async function prepared(bundle: Uint8Array, options: OpaWasmOptions = {}): Promise<PreparedPolicy> {
  // a loaded test machine must not decide what is too slow
  opened = await createOpaWasmEngine({ maxEvaluationMs: 200, ...options }).prepare(bundle)
  return opened
}

describe('a bundle is refused', () => {
  const shipped = readFileSync(SHIPPED)

  it.each<[string, Uint8Array, RegExp]>([
    ['when it is not a gzip file', Buffer.from('not a bundle'), /the archive is not a gzip file/],
    ['when it is truncated', shipped.subarray(0, shipped.length / 2), /the archive is truncated/],
    ['without a manifest', altered({ '.manifest': undefined }), /"\.manifest" is missing/],
    ['when its manifest is not JSON', altered({ '.manifest': '{' }), /"\.manifest" is not valid JSON/],
    ['when its manifest is a list', altered({ '.manifest': '[]' }), /\.manifest is not an object/],
    ['when it holds no module', altered({ '.manifest': '{"revision":"1"}' }), /names no WebAssembly module/],
    [
      'when its module is missing',
      altered({ 'policy.wasm': undefined }),
      /\.manifest names "policy\.wasm", but the bundle does not contain it/,
    ],
    [
      'when its module is damaged',
      altered({ 'policy.wasm': '\0asm nonsense' }),
      /its WebAssembly module cannot be compiled/,
    ],
    // the smallest module there is: magic and version
    [
      'when its module is not a policy',
      altered({ 'policy.wasm': Buffer.from('0061736d01000000', 'hex') }),
      /the module does not export opa_eval/,
    ],
    ['when its data is not JSON', altered({ 'data.json': 'roles: []' }), /"data\.json" is not valid JSON/],
    [
      'when its reads are not a list',
      altered({
        '.manifest': manifestWith(manifest => {
          manifest.wasm = [
            {
              entrypoint: 'toolgate/decision',
              module: '/policy.wasm',
              annotations: [{ custom: { reads: 'all' } }],
            },
          ]
        }),
      }),
      /custom\.reads of the entrypoint is not a list of paths/,
    ],
    [
      'when it reads what the input does not have',
      altered({
        '.manifest': manifestWith(manifest => {
          manifest.wasm = [
            {
              entrypoint: 'toolgate/decision',
              module: '/policy.wasm',
              annotations: [{ custom: { reads: ['moon'] } }],
            },
          ]
        }),
      }),
      /reads names "moon"/,
    ],
    [
      'when its manifest names an entrypoint the module lacks',
      altered({
        '.manifest': manifestWith(manifest => {
          manifest.wasm = [
            { entrypoint: 'toolgate/decision', module: 'policy.wasm' },
            { entrypoint: 'other/rule', module: 'policy.wasm' },
          ]
        }),
      }),
      /the WebAssembly module has no entrypoint "other\/rule"/,
    ],
  ])('%s', async (name, bundle, message) => {
    const options = name.includes('the module lacks') ? { entrypoint: 'other/rule' } : {}
    const failure = await prepared(bundle, options).then(
      () => new Error('it was taken'),
      (error: unknown) => error as Error,
    )
    expect(failure.message).toMatch(message)
    expect(failure.message).toMatch(/^the policy bundle cannot be used: /)
  })

  it('when it has no such entrypoint, naming those it has', async () => {
    await expect(prepared(shipped, { entrypoint: 'acme/allow' })).rejects.toThrow(
      'the bundle has no entrypoint "acme/allow", only toolgate/decision',
    )
  })
})

describe('a bundle without what policy:build adds', () => {
  it('decides the same, with all of the input', async () => {
    const plain = altered({
      '.manifest': manifestWith(manifest => {
        delete manifest.metadata
        manifest.revision = ''
      }),
    })
    const policy = await prepared(plain)
    expect(await policy.decide(inputOf(), 'caller', 1)).toMatchObject({ allow: true, revision: '' })
    expect(policy.cached).toBe(1)
  })

  it('caches nothing when it does not declare what it reads', async () => {
    const undeclared = altered({
      '.manifest': manifestWith(manifest => {
        manifest.wasm = [{ entrypoint: 'toolgate/decision', module: 'policy.wasm' }]
      }),
    })
    const policy = await prepared(undeclared)
    expect(await policy.decide(inputOf(), 'caller', 1)).toMatchObject({ allow: true })
    expect(policy.cached).toBe(0)
  })
})

describe('a policy that looks at arguments', () => {
  /** The shipped policy, with these codes marked as those of rules that look at arguments, and no reads declared. */
  const looking = (codes: readonly string[]) =>
    altered({
      '.manifest': manifestWith(manifest => {
        manifest.wasm = [{ entrypoint: 'toolgate/decision', module: 'policy.wasm' }]
        const rules = codes.map(code => ({
          code,
          title: code,
          file: 'a.rego',
          line: 1,
          readsArguments: true,
        }))
        manifest.metadata = { toolgate: { rules } }
      }),
    })
  const stranger = { caller: { scopes: [] } }
  const listing = inputOf(stranger)
  const calling = inputOf({ ...stranger, context: { arguments: {} } })

  it('lists a tool whose call only its arguments could deny', async () => {
    const policy = await prepared(looking(['insufficient_scope']))
    expect(await policy.decide(calling, 'caller', 1)).toMatchObject({
      allow: false,
      reasons: [{ code: 'insufficient_scope' }],
    })
    expect(await policy.decide(listing, 'caller', 1)).toMatchObject({ allow: true, reasons: [] })
    const other = { ...listing, action: { name: 'capabilities.read' } }
    expect((await policy.decide(other, 'caller', 1)).reasons).toEqual(
      (await policy.decide({ ...other, context: calling.context }, 'caller', 1)).reasons,
    )
  })

  it('does not list a tool that another rule denies as well', async () => {
    const policy = await prepared(looking(['another_code']))
    expect(await policy.decide(listing, 'caller', 1)).toMatchObject({ allow: false })
    const both = inputOf({ caller: { scopes: [], tenant: 'acme' }, resource: { tenant: 'beta' } })
    const one = await prepared(looking(['insufficient_scope']))
    const { allow, reasons } = await one.decide(both, 'caller', 1)
    expect({ allow, others: reasons.filter(({ code }) => code !== 'insufficient_scope').length > 0 }).toEqual(
      {
        allow: false,
        others: true,
      },
    )
  })
})

describe('cached decisions of a policy', () => {
  it('are counted when they are cleared, and made again afterwards', async () => {
    const policy = await prepared(readFileSync(SHIPPED))
    const first = await policy.decide(inputOf(), 'caller', 1)
    expect(await policy.decide(inputOf(), 'caller', 1)).toBe(first)
    expect([policy.cached, policy.clearCache(), policy.cached, policy.clearCache()]).toEqual([1, 1, 0, 0])
    expect(await policy.decide(inputOf(), 'caller', 1)).toEqual(first)
    expect(policy.cached).toBe(1)
  })

  it('serve no one after the policy was closed', async () => {
    const failures: PolicyFailure[] = []
    const policy = await prepared(readFileSync(SHIPPED), { onFailure: failure => failures.push(failure) })
    expect(await policy.decide(inputOf(), 'caller', 1)).toMatchObject({ allow: true })
    policy.close()
    expect(await policy.decide(inputOf(), 'caller', 1)).toMatchObject({ allow: false, unavailable: true })
    expect([policy.cached, ...failures]).toEqual([0, 'closed'])
  })
})

describe('a policy that misbehaves', () => {
  async function asked(action: string, options: OpaWasmOptions = {}, context = {}) {
    const failures: PolicyFailure[] = []
    const policy = await prepared(readFileSync(MISBEHAVING), {
      ...options,
      onFailure: failure => failures.push(failure),
    })
    const decision = await policy.decide(inputOf({ action, context }), 'caller', 1)
    const after = await policy.decide(inputOf({ action: 'allow' }), 'caller', 1)
    expect(after.allow, 'the next call is decided as if nothing had happened').toBe(true)
    return { decision, failures }
  }

  it.each<[string, string, PolicyFailure]>([
    ['is undefined', 'nothing', 'undefined'],
    ['returns a text for allow', 'not_boolean', 'malformed'],
    ['returns a number for allow', 'number', 'malformed'],
    ['returns a bare true', 'bare', 'malformed'],
    ['returns reasons of another shape', 'malformed_reason', 'malformed'],
    ['returns obligations of another shape', 'malformed_obligations', 'malformed'],
    ['contradicts itself', 'conflict', 'trap'],
    ['takes more memory than it may', 'much_memory', 'trap'],
    ['returns more than can be read', 'huge_answer', 'too_large'],
  ])('and %s denies', async (_, action, failure) => {
    const { decision, failures } = await asked(action, { maxEvaluationMs: 2000 })
    expect(decision).toMatchObject({ allow: false, unavailable: true })
    expect(decision.reasons).toEqual([
      { code: 'policy_unavailable', message: 'The policy could not be evaluated, so access is denied.' },
    ])
    expect(failures).toEqual([failure])
  })

  it('and takes longer than it may denies', async () => {
    const { decision, failures } = await asked('slow', {
      maxEvaluationMs: 5,
      maxMemoryBytes: 512 * 1024 * 1024,
    })
    expect(decision).toMatchObject({ allow: false, unavailable: true })
    expect(failures[0]).toBe('overtime')
  })

  it('and is given half a character denies, because it cannot be read', async () => {
    const { decision } = await asked('length', {}, { arguments: { text: '\ud800' } })
    expect(decision).toMatchObject({ allow: false, unavailable: true })
  })

  it('gives a denial without reasons a reason', async () => {
    const { decision } = await asked('no_reason')
    expect(decision).toMatchObject({ allow: false, reasons: [{ code: 'denied' }] })
    expect(decision.unavailable).toBeUndefined()
  })

  it('hands obligations on', async () => {
    const { decision } = await asked('obliges')
    expect(decision).toMatchObject({ allow: true, obligations: { redact: ['/card'] } })
  })

  it('reads arguments of any size and script', async () => {
    for (const text of ['', 'é€😀x', 'x'.repeat(300_000), '€'.repeat(400_000)]) {
      const { decision } = await asked('length', {}, { arguments: { text } })
      expect(decision.obligations).toEqual({ length: [...text].length })
    }
  })
})

describe('a policy that is closed', () => {
  it('denies', async () => {
    const policy = await prepared(readFileSync(SHIPPED))
    await policy.decide(inputOf(), 'caller', 1)
    policy.close()
    expect(await policy.decide(inputOf(), 'caller', 1)).toMatchObject({ allow: false, unavailable: true })
    expect(policy.cached).toBe(0)
  })
})

describe('what could not be decided', () => {
  it('is logged at most once a second, and counted always', async () => {
    const lines: object[] = []
    let counted = 0
    const policy = await prepared(readFileSync(MISBEHAVING), {
      log: { warn: fields => lines.push(fields) },
      onFailure: () => counted++,
    })
    const clock = vi.spyOn(performance, 'now')
    try {
      for (const [nowMs, linesThen] of [
        [5_000, 1],
        [5_999, 1],
        [6_000, 2],
      ] as const) {
        clock.mockReturnValue(nowMs)
        for (let i = 0; i < 20; i++) await policy.decide(inputOf({ action: 'bare' }), 'caller', 1)
        expect(lines).toHaveLength(linesThen)
      }
    } finally {
      clock.mockRestore()
    }
    expect(lines[1]).toMatchObject({ unlogged_before: 39 })
    expect(counted).toBe(60)
  })
})
