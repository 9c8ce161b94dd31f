/** The messages between a serving thread and the thread that checks its arguments. Types only. */
import type { JsonSchema } from '../../model/json-schema.ts'
import type { ArgumentFault } from './argument-fault.ts'

/** Arguments as JSON: as text they cost the sender a tenth of a structured clone. */
export interface CheckRequest {
  readonly schemaId: number
  readonly args: string
}

/** Sent when the thread asks for it; a thread that was started again knows no schema. */
export interface SchemaMessage {
  readonly schema: JsonSchema
}

/** Compiling and checking have separate limits, so each is reported when it begins. */
export type CheckMessage = 'needs_schema' | 'compiling' | 'compiled' | readonly ArgumentFault[]
