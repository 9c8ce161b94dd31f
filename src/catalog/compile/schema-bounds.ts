/** Bounds of a schema of a tool. */
import type { ObjectSchema } from '../../base/json/json-schema.ts'
import { countValues } from '../../base/json-schema/cost.ts'
import type { Draft } from './schema-keywords.ts'
import { SkippedOperation } from './skipped.ts'

/** A validator of a larger schema takes seconds to make, and each gateway that receives the schema is busy for milliseconds. */
const MAX_SCHEMA_VALUES = 10_000
const MAX_SCHEMA_CHARS = 300_000

/** @throws SkippedOperation */
export function boundedSchema(schema: Draft): ObjectSchema {
  const values = countValues(schema)
  if (values > MAX_SCHEMA_VALUES)
    throw new SkippedOperation(
      `the input or output schema has ${values} keywords and values, more than the limit of ${MAX_SCHEMA_VALUES}: use fewer enum values, oneOf alternatives and properties, or split the operation`,
    )
  const chars = JSON.stringify(schema).length
  if (chars > MAX_SCHEMA_CHARS)
    throw new SkippedOperation(
      `the input or output schema has ${chars} characters, more than the limit of ${MAX_SCHEMA_CHARS}: shorten the descriptions in the schema, or split the operation`,
    )
  return schema as ObjectSchema
}
