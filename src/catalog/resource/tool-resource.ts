/** Reads the spec of a Tool resource, and reports its faults. It makes no tool: `apply-tool.ts` does. */
import type { JsonSchema, ObjectSchema } from '../../base/json/json-schema.ts'
import { assertSchema } from '../../base/json-schema/validate.ts'
import type { ResourceFault } from '../../model/resource-fault.ts'
import { type ToolSpec, toolSpec } from '../../model/schema/tool-spec.ts'
import type { DeclaredAuthentication, ToolDefaults } from '../../model/tool-set.ts'
import { checkAuthentication, toAuthentication } from './authentication.ts'
import { mirroredHeaderFault } from './mirrored-headers.ts'
import type { ResourceMeta } from './resource-meta.ts'
import { readSpec, type SpecPart } from './spec-rules.ts'
import { toToolFields } from './tool-fields.ts'

type Plain =
  | 'displayName'
  | 'description'
  | 'endpoint'
  | 'method'
  | 'annotations'
  | 'version'
  | 'apiRef'
  | 'enabled'

/** Fields of a Tool resource; absent fields are as generated. */
export interface ToolResource
  extends Readonly<Pick<ToolSpec, Plain>>,
    Partial<Omit<ToolDefaults, 'authentication' | 'outputSchema'>> {
  readonly name: string
  readonly namespace: string
  readonly inputSchema?: ObjectSchema
  readonly outputSchema?: JsonSchema
  readonly authentication?: DeclaredAuthentication
}

const MAX_SCHEMA_CHARS = 200_000

/** @returns undefined when faults were added */
export function readTool(
  meta: ResourceMeta,
  spec: unknown,
  faults: ResourceFault[],
): ToolResource | undefined {
  const read = readSpec(toolSpec, spec, 'spec', faults, checkTool)
  if (read === undefined) return undefined
  const { authentication, inputSchema, ...rest } = read
  const { tags, timeout, maxResultKiB, tasks, rateLimit, cache, ...plain } = rest
  return {
    name: meta.name,
    namespace: meta.namespace,
    ...plain,
    ...toToolFields(rest),
    ...(inputSchema === undefined ? {} : { inputSchema: inputSchema as ObjectSchema }),
    ...(authentication === undefined ? {} : { authentication: toAuthentication(authentication) }),
  }
}

function checkTool(spec: SpecPart): void {
  checkAuthentication(spec.part('authentication'))
  checkSchema(spec, 'inputSchema')
  checkSchema(spec, 'outputSchema')
}

function checkSchema(spec: SpecPart, name: 'inputSchema' | 'outputSchema'): void {
  const value = spec.get(name)
  if (typeof value !== 'object' || value === null) return
  if (name === 'inputSchema' && spec.part(name).get('type') !== 'object')
    return spec.part(name).fault('type', 'is not "object"', 'write type: object')
  if (JSON.stringify(value).length > MAX_SCHEMA_CHARS)
    return spec.fault(name, `is longer than ${MAX_SCHEMA_CHARS} characters`, 'shorten it')
  const mirrored = mirroredHeaderFault(value)
  if (mirrored !== undefined)
    return spec.fault(name, `has an invalid annotation: ${mirrored}`, 'correct or remove the annotation')
  try {
    assertSchema(value as JsonSchema)
  } catch (error) {
    const reason = (error as Error).message.slice(0, 200)
    spec.fault(name, `is not a valid JSON Schema (${reason})`, 'correct it')
  }
}
