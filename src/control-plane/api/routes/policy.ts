/** Routes and schemas of the policy editor. The `PolicyWorkshop` of the services compiles drafts and changes the policy. */

import { count, shaped, textField } from '../../../model/schema/fields.ts'
import { z } from '../../../model/schema/zod.ts'
import { type Endpoint, endpointsTagged } from '../http/endpoint.ts'
import { conflict, unavailable } from '../http/problem.ts'
import { shownMoment } from '../schemas/fields.ts'
import type { Services } from '../services.ts'

const endpoint = endpointsTagged('policy')

const MAX_FILES = 200
const MAX_FILE_CHARS = 200_000
const MAX_CHARS = 600_000
const MAX_DECISIONS = 5_000
const PATH =
  /^(?:[A-Za-z0-9_][A-Za-z0-9_-]*\/){0,8}(?:[A-Za-z0-9_][A-Za-z0-9_-]*\.rego|data\.(?:json|ya?ml))$/

const file = z
  .strictObject({
    path: shaped(
      PATH,
      200,
      'must be the relative path of a .rego file, or of a file with the name data.json, data.yaml or data.yml. The path can contain at most 8 folders. Names must consist of letters, digits, "_" and "-", and must not begin with "-".',
    ).openapi({
      example: 'toolgate/rules/scope/scope.rego',
    }),
    content: textField(MAX_FILE_CHARS, 0),
  })
  .openapi('PolicyFile')

const files = z
  .array(file)
  .min(1, 'must have at least 1 file.')
  .max(MAX_FILES, `must have at most ${MAX_FILES} files.`)
  .refine(
    list => new Set(list.map(({ path }) => path)).size === list.length,
    'must not contain a path more than once.',
  )
  .refine(
    list => list.reduce((sum, { content }) => sum + content.length, 0) <= MAX_CHARS,
    `must have at most ${MAX_CHARS} characters in all files together.`,
  )
  .openapi({ description: 'All modules, tests and data documents of the policy.' })

const part = z.looseObject({})
const holder = z.looseObject({ properties: part })
const input = z
  .looseObject({ subject: holder, action: part, resource: holder, context: part })
  .openapi({ description: 'Policy input of one decision, as described in docs/reference/policy-input.md.' })

const revision = shaped(/^[\w.-]+$/, 64, 'must consist of letters, digits, "_", "." and "-".').openapi({
  example: '0c6e4f1f7f6f4e0a9d1c2b3a4f5e6d7c',
})

const compiler = z
  .object({
    available: z.boolean(),
    version: z.string(),
    hint: z.string().nullable().openapi({
      description: 'How to install `opa`, which compiles the policy; null when `opa` is installed.',
    }),
  })
  .openapi('PolicyCompiler')

const flip = z
  .object({
    direction: z.enum(['allow→deny', 'deny→allow']),
    rule: z.string(),
    action: z.string(),
    resource: z.string(),
    consumer: z.string(),
    count: z.int(),
    examples: z.array(z.string()).openapi({ description: 'Ids of some of the decisions that differ.' }),
  })
  .openapi('PolicyFlip')

const candidate = z.object({
  revision: z.string().optional(),
  compared: z.int().optional(),
  flipped: z.int().optional(),
  failed: z.int().optional(),
  skipped: z.int().optional(),
  flips: z.array(flip).optional(),
  max_flips: z.int(),
  fault: z.string().optional(),
})

const shownPolicy = z
  .object({
    revision: z.string(),
    since: shownMoment,
    compiler,
    read_only: z.string().nullable().openapi({
      description:
        'Why this control plane cannot promote a candidate or roll back the policy; null when it can.',
    }),
    files: z.array(file).nullable().openapi({
      description: 'Source files of the bundle in force; null when the bundle does not contain them.',
    }),
    input_schema: z
      .record(z.string(), z.unknown())
      .openapi({ description: 'JSON Schema of the policy input, for code completion.' }),
    candidate: candidate.nullable(),
    history: z
      .array(z.object({ revision: z.string(), since: shownMoment }))
      .openapi({ description: 'Revisions to which the policy can be rolled back, the newest first.' }),
  })
  .openapi('Policy')

const report = z
  .object({
    compiler,
    errors: z.array(
      z.object({
        file: z.string().nullable(),
        row: z.int().nullable(),
        column: z.int().nullable(),
        message: z.string(),
      }),
    ),
    tests: z.array(
      z.object({
        package: z.string(),
        name: z.string(),
        file: z.string(),
        row: z.int(),
        passed: z.boolean(),
        error: z.string().nullable(),
      }),
    ),
    revision: z
      .string()
      .nullable()
      .openapi({ description: 'Revision of the compiled draft; null when the draft has errors.' }),
    cacheable: z.boolean().nullable(),
    comparison: z
      .object({
        revision: z.string().openapi({ description: 'Revision in force, with which the draft is compared.' }),
        compared: z.int(),
        flipped: z.int(),
        failed: z.int(),
        masked: z.int().openapi({ description: 'Number of recorded decisions whose arguments were masked.' }),
        flips: z.array(flip),
      })
      .nullable(),
    decision: z
      .object({
        allow: z.boolean(),
        unavailable: z.boolean(),
        revision: z.string(),
        reasons: z.array(
          z.object({
            code: z.string(),
            message: z.string(),
            rules: z.array(z.object({ title: z.string(), file: z.string(), line: z.int() })),
          }),
        ),
        obligations: z.record(z.string(), z.unknown()).nullable(),
      })
      .nullable(),
  })
  .openapi('PolicyDraftReport')

const shownRevision = z.object({ revision: z.string() }).openapi('PolicyRevision')

/** @throws Problem where a policy server has the policy */
function workshopOf({ workshop }: Services): NonNullable<Services['workshop']> {
  if (workshop === undefined)
    throw conflict(
      'POLICY_ENGINE is opa-http, so the OPA server manages the policy. Read and change the policy on the OPA server.',
    )
  return workshop
}

function busy() {
  return unavailable('Too many drafts are being compiled. Repeat the request later.', 2)
}

/** Errors of the workshop are about the draft, or about what has to be installed. @throws Problem */
async function orConflict<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw conflict((error as Error).message)
  }
}

/** @throws Problem with the reason for which it was not done */
async function requireSuccess(work: Promise<string | undefined>): Promise<void> {
  const reason = await orConflict(work)
  if (reason !== undefined) throw conflict(reason)
}

const byPath = (list: readonly { readonly path: string; readonly content: string }[]) =>
  Object.fromEntries(list.map(({ path, content }) => [path, content]))

export const policyEndpoints: readonly Endpoint[] = [
  endpoint('readPolicy', 'get', '/policy', {
    summary: 'Read the policy in force, its sources, the candidate and earlier revisions',
    action: 'control.policy.read',
    reach: 'platform',
    success: { description: 'The policy', schema: shownPolicy },
    async run({ services }) {
      const workshop = workshopOf(services)
      return { afterwards: () => workshop.status() }
    },
  }),
  endpoint('checkPolicyDraft', 'post', '/policy/check', {
    summary: 'Compile and test a draft of the policy, and compare its decisions with recorded decisions',
    action: 'control.policy.check',
    reach: 'platform',
    body: z.strictObject({
      files: files.optional().openapi({
        description:
          'Files of the draft, which evaluates `input`. If absent, the policy in force evaluates `input`.',
      }),
      input: input.optional(),
      decisions: count(0, MAX_DECISIONS).default(1000).openapi({
        description: 'Maximum number of recorded decisions to compare, the latest first.',
      }),
    }),
    idempotencyKey: false,
    audited: false,
    success: {
      status: 200,
      description: 'The compile errors, the test results and the differences between decisions',
      schema: report,
    },
    async run({ services, body }) {
      const workshop = workshopOf(services)
      const question = { ...body, files: body.files && byPath(body.files) }
      return {
        async afterwards() {
          const found = await orConflict(workshop.check(question))
          if (found === undefined) throw busy()
          return found
        },
      }
    },
  }),
  endpoint('shadowPolicyDraft', 'post', '/policy/candidate', {
    summary:
      'Make a draft the candidate; its decisions on live traffic are compared with those of the policy in force',
    action: 'control.policy.change',
    reach: 'platform',
    body: z.strictObject({ revision }),
    idempotencyKey: false,
    success: { status: 200, description: 'The revision of the candidate', schema: shownRevision },
    async run({ services, body }) {
      const workshop = workshopOf(services)
      if (!workshop.hasDraft(body.revision))
        throw conflict(
          `This control-plane instance does not have a compiled draft with revision ${body.revision}. Send the files of the draft to POST /v1/policy/check again.`,
        )
      return {
        recorded: { id: body.revision, after: { candidate: body.revision } },
        async afterwards() {
          await requireSuccess(workshop.shadow(body.revision))
          return { revision: body.revision }
        },
      }
    },
  }),
  endpoint('promotePolicyCandidate', 'post', '/policy/promote', {
    summary: 'Promote the policy candidate: it becomes the policy in force, in all threads at the same time',
    action: 'control.policy.change',
    reach: 'platform',
    body: z.strictObject({ revision }),
    idempotencyKey: false,
    success: { status: 200, description: 'The revision in force', schema: shownRevision },
    async run({ services, body }) {
      const workshop = workshopOf(services)
      // a repetition after a lost response has the same result
      const isInForce = workshop.revision === body.revision
      if (!isInForce) await requireSuccess(workshop.obstacle(body.revision))
      return {
        recorded: changeTo(body.revision, workshop.revision),
        async afterwards() {
          if (!isInForce) await requireSuccess(workshop.promote(body.revision))
          return { revision: workshop.revision }
        },
      }
    },
  }),
  endpoint('rollBackPolicy', 'post', '/policy/rollback', {
    summary: 'Roll the policy back to an earlier revision',
    action: 'control.policy.change',
    reach: 'platform',
    body: z.strictObject({ revision }),
    idempotencyKey: false,
    success: { status: 200, description: 'The revision in force', schema: shownRevision },
    async run({ services, body }) {
      const workshop = workshopOf(services)
      if (!(await orConflict(workshop.isKept(body.revision))))
        throw conflict(
          `Revision ${body.revision} is not in the history of the policy. Send a revision from history in the response to GET /v1/policy.`,
        )
      return {
        recorded: changeTo(body.revision, workshop.revision),
        async afterwards() {
          await requireSuccess(workshop.rollBack(body.revision))
          return { revision: workshop.revision }
        },
      }
    },
  }),
]

function changeTo(next: string, current: string) {
  return { id: next, before: { revision: current }, after: { revision: next } }
}
